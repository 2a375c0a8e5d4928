from django.db import migrations

from storage.migrations._operations import run_sql


class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0001_squashed_0043_rows_of_samples'),
    ]

    operations = run_sql(__file__, 'row_security')
