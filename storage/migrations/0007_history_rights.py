"""The app adds to the history of records and reads it; it has no right to change or delete it."""

from django.db import migrations

REVOKE = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        REVOKE UPDATE, DELETE, TRUNCATE ON storage_hostevent, storage_volumeevent FROM tiercel_app;
    END IF;
END $$;
"""
GRANT = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        GRANT UPDATE, DELETE ON storage_hostevent, storage_volumeevent TO tiercel_app;
    END IF;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("storage", "0006_history"),
    ]

    operations = [
        migrations.RunSQL(REVOKE, GRANT),
    ]
