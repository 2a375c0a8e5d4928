"""The busiest and the slowest volumes of each host, as of its last round of samples."""


from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0021_removed_hosts_and_maintenance_end'),
    ]

    operations = [
        migrations.AddField(
            model_name='hostactivity',
            name='top_iops',
            field=models.JSONField(db_default=[], default=list),
        ),
        migrations.AddField(
            model_name='hostactivity',
            name='top_read_ms',
            field=models.JSONField(db_default=[], default=list),
        ),
    ]
