"""The security log; append-only as the audit trail is."""

import django.db.models.functions.datetime
from django.db import migrations, models

APPEND_ONLY = """
CREATE TRIGGER security_no_change BEFORE UPDATE OR DELETE ON panel_securityentry
    FOR EACH STATEMENT EXECUTE FUNCTION jobs_audit_append_only();
CREATE TRIGGER security_no_truncate BEFORE TRUNCATE ON panel_securityentry
    FOR EACH STATEMENT EXECUTE FUNCTION jobs_audit_append_only();
ALTER TABLE panel_securityentry ENABLE ALWAYS TRIGGER security_no_change;
ALTER TABLE panel_securityentry ENABLE ALWAYS TRIGGER security_no_truncate;
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        REVOKE UPDATE, DELETE, TRUNCATE ON panel_securityentry FROM tiercel_app;
    END IF;
END $$;
"""

CHANGEABLE = """
DROP TRIGGER security_no_change ON panel_securityentry;
DROP TRIGGER security_no_truncate ON panel_securityentry;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("panel", "0012_order_waits"),
        ("jobs", "0010_last_order"),
    ]

    operations = [
        migrations.CreateModel(
            name="SecurityEntry",
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
                    "kind",
                    models.CharField(
                        choices=[
                            ("signed_in", "signed in"),
                            ("failed", "sign-in or proof failed"),
                            ("locked_out", "too many tries"),
                            ("password", "password changed"),
                            ("factor_added", "second factor added"),
                            ("factor_removed", "second factor removed"),
                            ("codes", "recovery codes renewed"),
                            ("address", "e-mail address changed"),
                            ("token_made", "API token made"),
                            ("token_revoked", "API token revoked"),
                            ("link_made", "one-time link made"),
                            ("link_used", "one-time link used"),
                            ("role", "role changed"),
                            ("deactivated", "shut out"),
                            ("reactivated", "let in again"),
                            ("session_ended", "session ended"),
                        ],
                        max_length=16,
                    ),
                ),
                ("person", models.CharField(blank=True, max_length=254)),
                ("actor", models.CharField(blank=True, max_length=254)),
                ("address", models.GenericIPAddressField(blank=True, null=True)),
                ("detail", models.CharField(blank=True, max_length=200)),
            ],
            options={
                "ordering": ("-id",),
                "indexes": [
                    models.Index(fields=["person", "-id"], name="security_person"),
                    models.Index(fields=["kind", "-id"], name="security_kind"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "kind__in",
                                [
                                    "signed_in",
                                    "failed",
                                    "locked_out",
                                    "password",
                                    "factor_added",
                                    "factor_removed",
                                    "codes",
                                    "address",
                                    "token_made",
                                    "token_revoked",
                                    "link_made",
                                    "link_used",
                                    "role",
                                    "deactivated",
                                    "reactivated",
                                    "session_ended",
                                ],
                            )
                        ),
                        name="security_kind_known",
                    )
                ],
            },
        ),
        migrations.RunSQL(APPEND_ONLY, CHANGEABLE),
    ]
