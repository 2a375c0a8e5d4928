import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('panel', '0002_squashed_0034_held_messages'),
    ]

    operations = [
        migrations.AddField(
            model_name='apitoken',
            name='made_by',
            field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=12),
        ),
        migrations.AlterField(
            model_name='apitoken',
            name='scopes',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('read', 'read everything you can see'), ('volumes:preview', 'preview volume changes'), ('volumes:write', 'change caches, adopt and rename volumes'), ('volumes:destroy', 'destroy volumes and give up lost caches'), ('hosts:write', 'manage hosts'), ('customers:write', 'make and change customers'), ('orders:write', 'order cache plans and take orders back, which costs money'), ('plans:write', 'make and change cache plans'), ('alerts:write', 'acknowledge alerts and silence them'), ('alert-routes:write', 'change who is told of alerts'), ('webhooks:write', 'change where events are sent'), ('metrics:read', 'read metrics for Prometheus, and nothing else'), ('people:write', 'invite people and change their roles'), ('tokens:write', 'make and revoke tokens with at most the same scopes')], max_length=32), size=None),
        ),
    ]
