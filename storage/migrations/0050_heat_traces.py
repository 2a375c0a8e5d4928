import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import storage.naming
from django.conf import settings
from django.db import migrations, models

from storage.migrations._operations import run_sql


class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0049_heat'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='heatday',
            name='counted_seconds',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.CreateModel(
            name='HeatTrace',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(default=storage.naming.new_key, editable=False, max_length=26, unique=True)),
                ('minutes', models.PositiveSmallIntegerField(validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(30)])),
                ('chunk_bytes', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('wanted', 'waiting for the host'), ('running', 'running'), ('done', 'done'), ('failed', 'failed'), ('cancelled', 'cancelled')], default='wanted', max_length=9)),
                ('address', models.GenericIPAddressField(blank=True, null=True)),
                ('door', models.CharField(max_length=8)),
                ('token', models.CharField(blank=True, max_length=64)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('not_before', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('begun_at', models.DateTimeField(blank=True, null=True)),
                ('ends_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('until_ns', models.BigIntegerField(blank=True, null=True)),
                ('is_on_host', models.BooleanField(default=False)),
                ('message', models.CharField(blank=True, max_length=512)),
                ('correction', models.CharField(blank=True, max_length=512)),
                ('actor', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('host', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='heat_traces', to='storage.host')),
                ('volume', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='heat_traces', to='storage.volume')),
            ],
            options={
                'ordering': ('-id',),
                'indexes': [models.Index(condition=models.Q(('ended_at', None), ('is_on_host', True), _connector='OR'), fields=['not_before'], name='heat_trace_to_follow')],
                'constraints': [models.CheckConstraint(condition=models.Q(('minutes__gte', 1), ('minutes__lte', 30)), name='heat_trace_minutes'), models.UniqueConstraint(condition=models.Q(('ended_at', None)), fields=('volume',), name='heat_trace_one_per_volume')],
            },
        ),
        *run_sql(__file__, 'row_security'),
    ]
