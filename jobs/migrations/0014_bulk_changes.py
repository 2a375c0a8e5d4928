"""Changes of many volumes are kept with what came of each; customers never see them."""


import django.db.models.deletion
import django.db.models.functions.datetime
import storage.naming
from django.conf import settings
from django.db import migrations, models

from storage.row_security import STAFF_ONLY, enclose


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0013_failed_jobs'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='BulkChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(default=storage.naming.new_key, editable=False, max_length=26, unique=True)),
                ('action', models.CharField(max_length=16)),
                ('option', models.CharField(blank=True, max_length=26)),
                ('back', models.TextField(blank=True)),
                ('items', models.JSONField(default=list)),
                ('outcomes', models.JSONField(default=list)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('actor', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-id',),
            },
        ),
        migrations.RunSQL(*enclose("jobs_bulkchange", STAFF_ONLY)),
    ]
