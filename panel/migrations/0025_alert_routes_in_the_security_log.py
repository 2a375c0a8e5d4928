"""Who is told of alerts is changed by nobody without an entry in the security log."""

from django.db import migrations, models

KINDS = [
    'signed_in', 'failed', 'locked_out', 'password', 'factor_added', 'factor_removed', 'codes',
    'address', 'token_made', 'token_revoked', 'link_made', 'link_used', 'link_revoked', 'role',
    'deactivated', 'reactivated', 'session_ended', 'backup', 'exported', 'alert_route',
]


class Migration(migrations.Migration):

    dependencies = [
        ('panel', '0024_notices_of_alerts'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='securityentry',
            name='security_kind_known',
        ),
        migrations.AlterField(
            model_name='securityentry',
            name='kind',
            field=models.CharField(choices=[('signed_in', 'signed in'), ('failed', 'sign-in or proof failed'), ('locked_out', 'too many attempts'), ('password', 'password changed'), ('factor_added', 'second factor added'), ('factor_removed', 'second factor removed'), ('codes', 'recovery codes renewed'), ('address', 'e-mail address changed'), ('token_made', 'API token made'), ('token_revoked', 'API token revoked'), ('link_made', 'one-time link made'), ('link_used', 'one-time link used'), ('link_revoked', 'one-time link revoked'), ('role', 'role changed'), ('deactivated', 'deactivated'), ('reactivated', 'reactivated'), ('session_ended', 'session ended'), ('backup', 'backup made'), ('exported', 'data exported'), ('alert_route', 'who is told of alerts changed')], max_length=16),
        ),
        migrations.AddConstraint(
            model_name='securityentry',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', KINDS)), name='security_kind_known'),
        ),
    ]
