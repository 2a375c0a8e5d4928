from django.db import migrations

from storage.migrations._operations import run_sql


class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0045_keys_of_members'),
    ]

    operations = run_sql(__file__, 'row_security')
