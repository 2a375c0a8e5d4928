from django.db import migrations

from storage.migrations._operations import run_sql


class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0044_walls_of_hosts'),
    ]

    operations = run_sql(__file__, 'row_security')
