"""Jobs that failed lately are found without a look at all others."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0012_installation'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('dry_run', False), ('state', 'failed')), fields=['ended_at'], name='job_failed_lately'),
        ),
    ]
