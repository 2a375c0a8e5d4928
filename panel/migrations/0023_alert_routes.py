"""Who is told of alerts, and the messages to them."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import storage.naming
from django.conf import settings
from django.db import migrations, models

from storage.row_security import STAFF_ONLY, enclose


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0016_alerts'),
        ('panel', '0022_user_language'),
        ('storage', '0023_volume_hours'),
    ]

    operations = [
        migrations.CreateModel(
            name='AlertRoute',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(default=storage.naming.new_key, editable=False, max_length=26, unique=True)),
                ('name', models.CharField(max_length=60)),
                ('kind', models.CharField(choices=[('email', 'E-mail to a person'), ('webhook', 'Webhook, signed'), ('ntfy', 'ntfy'), ('slack', 'Slack'), ('matrix', 'Matrix')], max_length=7)),
                ('url', models.TextField(blank=True)),
                ('secret', models.TextField(blank=True)),
                ('is_on', models.BooleanField(default=True)),
                ('tier', models.PositiveSmallIntegerField(default=1)),
                ('most_rank', models.SmallIntegerField(default=2)),
                ('sites', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=64), blank=True, default=list, size=None)),
                ('tags', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=32), blank=True, default=list, size=None)),
                ('zone', models.CharField(default='UTC', max_length=64)),
                ('quiet_start', models.TimeField(blank=True, null=True)),
                ('quiet_end', models.TimeField(blank=True, null=True)),
                ('risk_pierces', models.BooleanField(default=True)),
                ('digest_hour', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('hosts', models.ManyToManyField(blank=True, related_name='+', to='storage.host')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='alert_routes', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('tier', 'name'),
            },
        ),
        migrations.CreateModel(
            name='AlertDelivery',
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
                ('purpose', models.CharField(choices=[('events', 'alerts'), ('digest', 'daily digest'), ('test', 'test')], default='events', max_length=6)),
                ('day', models.DateField(blank=True, null=True)),
                ('events', models.ManyToManyField(related_name='deliveries', to='jobs.alertevent')),
                ('route', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='panel.alertroute')),
            ],
            options={
                'ordering': ('-id',),
            },
        ),
        migrations.AddConstraint(
            model_name='alertroute',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['email', 'webhook', 'ntfy', 'slack', 'matrix'])), name='alert_route_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='alertroute',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'email'), ('user__isnull', False)), models.Q(models.Q(('kind', 'email'), _negated=True), ('user', None), models.Q(('url', ''), _negated=True)), _connector='OR'), name='alert_route_leads_somewhere'),
        ),
        migrations.AddConstraint(
            model_name='alertroute',
            constraint=models.CheckConstraint(condition=models.Q(('tier__gte', 1), ('tier__lte', 3)), name='alert_route_tier'),
        ),
        migrations.AddConstraint(
            model_name='alertroute',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('quiet_end', None), ('quiet_start', None)), models.Q(('quiet_end__isnull', False), ('quiet_start__isnull', False)), _connector='OR'), name='alert_route_quiet_whole'),
        ),
        migrations.AddIndex(
            model_name='alertdelivery',
            index=models.Index(condition=models.Q(('delivered_at', None), ('given_up_at', None)), fields=['next_at'], name='alert_delivery_due'),
        ),
        migrations.AddConstraint(
            model_name='alertdelivery',
            constraint=models.UniqueConstraint(fields=('route', 'day'), name='alert_digest_once_a_day'),
        ),
        migrations.AddConstraint(
            model_name='alertdelivery',
            constraint=models.CheckConstraint(condition=models.Q(('purpose__in', ('events', 'digest', 'test'))), name='alert_delivery_purpose_known'),
        ),
        migrations.AlterField(
            model_name='apitoken',
            name='scopes',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('read', 'read everything you can see'), ('volumes:write', 'change caches, adopt and rename volumes'), ('customers:write', 'make and change customers'), ('orders:write', 'order cache plans and take orders back, which costs money'), ('plans:write', 'make and change cache plans'), ('alerts:write', 'acknowledge alerts and silence them'), ('alert-routes:write', 'change who is told of alerts')], max_length=32), size=None),
        ),
        migrations.RunSQL(*enclose("panel_alertdelivery_events", STAFF_ONLY)),
    ]
