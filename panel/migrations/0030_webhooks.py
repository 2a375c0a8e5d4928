"""Webhooks, the messages to them, and the scopes of tokens for both webhooks and metrics."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import storage.name_validators
import storage.naming
from django.db import migrations, models

from storage.row_security import STAFF_ONLY, enclose


class Migration(migrations.Migration):

    dependencies = [
        ('panel', '0029_events'),
        ('storage', '0032_events'),
    ]

    operations = [
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(default=storage.naming.new_key, editable=False, max_length=26, unique=True)),
                ('name', models.CharField(max_length=60, validators=[storage.name_validators.demand_name])),
                ('url', models.TextField()),
                ('kinds', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=32), blank=True, default=list, size=None)),
                ('secret', models.TextField()),
                ('former_secret', models.TextField(blank=True)),
                ('former_until', models.DateTimeField(blank=True, null=True)),
                ('is_on', models.BooleanField(default=True)),
                ('position', models.BigIntegerField(default=0)),
                ('disabled_at', models.DateTimeField(blank=True, null=True)),
                ('failures', models.PositiveIntegerField(default=0)),
                ('rests_until', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
            options={
                'ordering': ('name', 'id'),
            },
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('next_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('delivered_at', models.DateTimeField(blank=True, null=True)),
                ('given_up_at', models.DateTimeField(blank=True, null=True)),
                ('last_status', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('key', models.CharField(default=storage.naming.new_key, editable=False, max_length=26, unique=True)),
                ('subject', models.CharField(max_length=40)),
            ],
            options={
                'ordering': ('-id',),
            },
        ),
        migrations.RemoveConstraint(
            model_name='securityentry',
            name='security_kind_known',
        ),
        migrations.AlterField(
            model_name='apitoken',
            name='scopes',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('read', 'read everything you can see'), ('volumes:write', 'change caches, adopt and rename volumes'), ('customers:write', 'make and change customers'), ('orders:write', 'order cache plans and take orders back, which costs money'), ('plans:write', 'make and change cache plans'), ('alerts:write', 'acknowledge alerts and silence them'), ('alert-routes:write', 'change who is told of alerts'), ('webhooks:write', 'change where events are sent'), ('metrics:read', 'read metrics for Prometheus, and nothing else')], max_length=32), size=None),
        ),
        migrations.AlterField(
            model_name='securityentry',
            name='kind',
            field=models.CharField(choices=[('signed_in', 'signed in'), ('failed', 'sign-in or proof failed'), ('locked_out', 'too many attempts'), ('password', 'password changed'), ('factor_added', 'second factor added'), ('factor_removed', 'second factor removed'), ('codes', 'recovery codes renewed'), ('address', 'e-mail address changed'), ('token_made', 'API token made'), ('token_revoked', 'API token revoked'), ('link_made', 'one-time link made'), ('link_used', 'one-time link used'), ('link_revoked', 'one-time link revoked'), ('role', 'role changed'), ('deactivated', 'deactivated'), ('reactivated', 'reactivated'), ('session_ended', 'session ended'), ('backup', 'backup made'), ('exported', 'data exported'), ('alert_route', 'who is told of alerts changed'), ('webhook', 'webhook changed')], max_length=16),
        ),
        migrations.AddConstraint(
            model_name='securityentry',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['signed_in', 'failed', 'locked_out', 'password', 'factor_added', 'factor_removed', 'codes', 'address', 'token_made', 'token_revoked', 'link_made', 'link_used', 'link_revoked', 'role', 'deactivated', 'reactivated', 'session_ended', 'backup', 'exported', 'alert_route', 'webhook'])), name='security_kind_known'),
        ),
        migrations.AddField(
            model_name='webhook',
            name='customer',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='storage.customer'),
        ),
        migrations.AddField(
            model_name='webhookdelivery',
            name='event',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='storage.event'),
        ),
        migrations.AddField(
            model_name='webhookdelivery',
            name='webhook',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='panel.webhook'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(condition=models.Q(('delivered_at', None), ('given_up_at', None)), fields=['next_at'], name='webhook_delivery_due'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(condition=models.Q(('delivered_at', None), ('given_up_at', None)), fields=['webhook', 'subject', 'id'], name='webhook_delivery_order'),
        ),
        migrations.AddConstraint(
            model_name='webhookdelivery',
            constraint=models.UniqueConstraint(fields=('webhook', 'event'), name='webhook_event_once'),
        ),
        *(
            migrations.RunSQL(*enclose(table, STAFF_ONLY))
            for table in ('panel_webhook', 'panel_webhookdelivery')
        ),
    ]
