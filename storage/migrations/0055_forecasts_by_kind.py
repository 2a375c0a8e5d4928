from django.db import migrations, models

from storage.migrations._operations import run_sql

# A worker makes them again within a day.
FORGET = "DELETE FROM storage_sizeforecast"


class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0054_note_of_volumes'),
    ]

    operations = [
        migrations.RunSQL(FORGET),
        migrations.RemoveField(
            model_name='sizeforecast',
            name='mode',
        ),
        migrations.RemoveField(
            model_name='sizeforecast',
            name='points',
        ),
        migrations.AddField(
            model_name='sizeforecast',
            name='enough_bytes',
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='sizeforecast',
            name='forecasts',
            field=models.BinaryField(default=bytes),
        ),
        *run_sql(__file__, 'row_security'),
    ]
