"""The audit trail, and what makes it append-only: the app's role may only read and add, and
triggers refuse UPDATE, DELETE and TRUNCATE to everybody, the owner included."""

import django.db.models.functions.datetime
from django.db import migrations, models

APPEND_ONLY = """
CREATE FUNCTION jobs_audit_append_only() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'the audit trail is append-only: % is refused', TG_OP
        USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON jobs_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION jobs_audit_append_only();
CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON jobs_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION jobs_audit_append_only();
ALTER TABLE jobs_auditentry ENABLE ALWAYS TRIGGER audit_no_change;
ALTER TABLE jobs_auditentry ENABLE ALWAYS TRIGGER audit_no_truncate;
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        REVOKE UPDATE, DELETE, TRUNCATE ON jobs_auditentry FROM tiercel_app;
    END IF;
END $$;
"""

CHANGEABLE = """
DROP TRIGGER audit_no_change ON jobs_auditentry;
DROP TRIGGER audit_no_truncate ON jobs_auditentry;
DROP FUNCTION jobs_audit_append_only();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0003_fences_and_fallbacks"),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "phase",
                    models.CharField(
                        choices=[("intent", "intent"), ("outcome", "outcome")], max_length=8
                    ),
                ),
                ("op_id", models.UUIDField()),
                ("job_key", models.CharField(max_length=26)),
                ("kind", models.CharField(max_length=16)),
                ("actor", models.CharField(blank=True, max_length=254)),
                ("token", models.CharField(blank=True, max_length=64)),
                ("address", models.GenericIPAddressField(blank=True, null=True)),
                (
                    "door",
                    models.CharField(
                        choices=[("page", "page"), ("api", "API"), ("portal", "customer page")],
                        max_length=8,
                    ),
                ),
                ("host", models.CharField(max_length=64)),
                ("host_key", models.CharField(max_length=26)),
                ("machine_id", models.CharField(blank=True, max_length=64)),
                ("volume_key", models.CharField(max_length=26)),
                ("volume_label", models.CharField(max_length=200)),
                ("vg", models.CharField(blank=True, max_length=127)),
                ("verb", models.CharField(max_length=32)),
                ("args", models.JSONField()),
                ("commands", models.JSONField(blank=True, default=list)),
                ("result", models.JSONField(blank=True, default=dict)),
            ],
            options={
                "ordering": ("id",),
                "indexes": [
                    models.Index(fields=["-at", "-id"], name="audit_newest"),
                    models.Index(fields=["job_key"], name="audit_job"),
                    models.Index(fields=["volume_key", "-at"], name="audit_volume"),
                    models.Index(fields=["host_key", "-at"], name="audit_host"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("op_id", "phase"), name="audit_phase_once"),
                    models.CheckConstraint(
                        condition=models.Q(("phase__in", ["intent", "outcome"])),
                        name="audit_phase_known",
                    ),
                ],
            },
        ),
        migrations.RunSQL(APPEND_ONLY, CHANGEABLE),
    ]
