"""Disks that are gone, and those that may go."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0039_oldest_volumes'),
    ]

    operations = [
        migrations.AddField(
            model_name='physicaldisk',
            name='gone_since',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='physicaldisk',
            name='may_leave',
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
