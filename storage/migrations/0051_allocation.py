import django.db.models.deletion
from django.db import migrations, models

from storage.migrations._operations import run_sql


class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0050_heat_traces'),
    ]

    operations = [
        migrations.CreateModel(
            name='SizeForecast',
            fields=[
                ('volume', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='size_forecast', serialize=False, to='storage.volume')),
                ('made_at', models.DateTimeField(db_index=True)),
                ('mode', models.CharField(max_length=12)),
                ('cache_bytes', models.BigIntegerField(default=0)),
                ('observed_seconds', models.PositiveIntegerField(default=0)),
                ('points', models.JSONField(default=list)),
                ('reason', models.CharField(blank=True, max_length=500)),
            ],
        ),
        *run_sql(__file__, 'row_security'),
    ]
