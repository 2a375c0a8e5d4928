"""What the panel has notified of gets the names of the field."""

from __future__ import annotations

from django.db import migrations, models

from storage.migrations._operations import run_sql


class Migration(migrations.Migration):
    dependencies = (("jobs", "0029_longest_times_of_alerts"),)
    operations = (
        migrations.RemoveConstraint("alert", "alert_hush_known"),
        migrations.RemoveIndex("alertevent", "alert_event_unrouted"),
        migrations.RenameField("alert", "told_at", "notified_at"),
        migrations.RenameField("alert", "last_told_at", "last_notified_at"),
        migrations.RenameField("alert", "hushed_by", "muted_by"),
        migrations.RenameField("alertevent", "is_told", "is_notified"),
        migrations.AddConstraint(
            "alert",
            models.CheckConstraint(
                condition=models.Q(muted_by__in=("", "silence", "maintenance")),
                name="alert_mute_known",
            ),
        ),
        migrations.AddIndex(
            "alertevent",
            models.Index(
                fields=("id",),
                condition=models.Q(is_notified=True, routed_at=None),
                name="alert_event_unrouted",
            ),
        ),
        *run_sql(__file__, "events"),
    )
