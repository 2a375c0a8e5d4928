"""A message that a person sends again is tried for as long as a new one."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('panel', '0030_webhooks'),
    ]

    operations = [
        migrations.AddField(
            model_name='webhookdelivery',
            name='tried_since',
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
        ),
    ]
