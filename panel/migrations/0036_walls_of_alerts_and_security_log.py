from django.db import migrations

from storage.migrations._operations import run_sql


class Migration(migrations.Migration):

    dependencies = [
        ('panel', '0035_token_lineage'),
    ]

    operations = run_sql(__file__, 'row_security')
