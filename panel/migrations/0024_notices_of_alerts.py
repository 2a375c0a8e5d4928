"""Notices are messages like all others, and also tell of alerts."""

import django.db.models.deletion
from django.db import migrations, models

KINDS = ["done", "failed", "proof", "wrong", "mended"]
CHOICES = [
    ("done", "An order is done"),
    ("failed", "An order failed or was refused"),
    ("proof", "A before/after report is ready"),
    ("wrong", "A volume has a problem"),
    ("mended", "A problem of a volume is over"),
]
ENDS = """
UPDATE panel_notice SET
    delivered_at = CASE outcome WHEN 'sent' THEN ended_at END,
    given_up_at = CASE WHEN outcome IN ('dropped', 'failed') THEN ended_at END,
    last_error = CASE outcome WHEN 'dropped' THEN 'Not wanted any more.' ELSE last_error END
WHERE ended_at IS NOT NULL
"""
OLD_ENDS = """
UPDATE panel_notice SET
    ended_at = coalesce(delivered_at, given_up_at),
    outcome = CASE WHEN delivered_at IS NOT NULL THEN 'sent'
        WHEN last_error = 'Not wanted any more.' THEN 'dropped' ELSE 'failed' END
WHERE delivered_at IS NOT NULL OR given_up_at IS NOT NULL
"""
NONE_OF_ALERTS = "DELETE FROM panel_notice WHERE alert_id IS NOT NULL"


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0016_alerts'),
        ('panel', '0023_alert_routes'),
    ]

    operations = [
        migrations.RemoveIndex(model_name='notice', name='notice_waiting'),
        migrations.RenameField(model_name='notice', old_name='tries', new_name='attempts'),
        migrations.RenameField(model_name='notice', old_name='error', new_name='last_error'),
        migrations.AlterField(model_name='notice', name='attempts', field=models.PositiveIntegerField(default=0)),
        migrations.AddField(model_name='notice', name='delivered_at', field=models.DateTimeField(blank=True, null=True)),
        migrations.AddField(model_name='notice', name='given_up_at', field=models.DateTimeField(blank=True, null=True)),
        migrations.AddField(model_name='notice', name='last_status', field=models.PositiveSmallIntegerField(blank=True, null=True)),
        migrations.RunSQL(ENDS, OLD_ENDS),
        migrations.RemoveField(model_name='notice', name='outcome'),
        migrations.RemoveField(model_name='notice', name='ended_at'),
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", migrations.RunSQL.noop),
        migrations.AlterField(model_name='notice', name='order', field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='notices', to='panel.order')),
        migrations.AddField(model_name='notice', name='alert', field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='notices', to='jobs.alert')),
        migrations.RunSQL(migrations.RunSQL.noop, NONE_OF_ALERTS),
        migrations.RemoveConstraint(model_name='notice', name='notice_kind_known'),
        migrations.RemoveConstraint(model_name='mute', name='mute_kind_known'),
        migrations.AlterField(model_name='notice', name='kind', field=models.CharField(choices=CHOICES, max_length=6)),
        migrations.AlterField(model_name='mute', name='kind', field=models.CharField(choices=CHOICES, max_length=6)),
        migrations.AddConstraint(model_name='notice', constraint=models.CheckConstraint(condition=models.Q(('kind__in', KINDS)), name='notice_kind_known')),
        migrations.AddConstraint(model_name='mute', constraint=models.CheckConstraint(condition=models.Q(('kind__in', KINDS)), name='mute_kind_known')),
        migrations.AddConstraint(model_name='notice', constraint=models.UniqueConstraint(fields=('alert', 'user', 'kind'), name='notice_of_alert_once_for_each_person')),
        migrations.AddConstraint(model_name='notice', constraint=models.CheckConstraint(condition=models.Q(models.Q(('alert', None), ('order__isnull', False)), models.Q(('alert__isnull', False), ('order', None)), _connector='OR'), name='notice_about_one_thing')),
        migrations.AddIndex(model_name='notice', index=models.Index(condition=models.Q(('delivered_at', None), ('given_up_at', None)), fields=['next_at'], name='notice_waiting')),
    ]
