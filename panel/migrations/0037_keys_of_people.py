from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

import storage.naming


SCOPES = [
    ('read', 'read everything you can see'),
    ('volumes:read', 'read volumes and their figures'),
    ('hosts:read', 'read hosts and their disks'),
    ('jobs:read', 'read jobs'),
    ('customers:read', 'read customers'),
    ('billing:read', 'read plans, orders and prices'),
    ('alerts:read', 'read alerts and who is notified'),
    ('events:read', 'read events and webhooks'),
    ('audit:read', 'read the audit trail'),
    ('people:read', 'read people and tokens'),
    ('volumes:preview', 'preview volume changes'),
    ('volumes:write', 'change caches, adopt and rename volumes'),
    ('volumes:destroy', 'destroy volumes and give up lost caches'),
    ('hosts:write', 'manage hosts'),
    ('customers:write', 'make and change customers'),
    ('orders:write', 'order cache plans and take orders back, which costs money'),
    ('plans:write', 'make and change cache plans'),
    ('alerts:write', 'acknowledge alerts and silence them'),
    ('alert-routes:write', 'change who is told of alerts'),
    ('webhooks:write', 'change where events are sent'),
    ('metrics:read', 'read metrics for Prometheus, and nothing else'),
    ('people:write', 'invite people and change their roles'),
    ('tokens:write', 'make and revoke tokens with at most the same scopes'),
]


def give_keys(apps, schema_editor):
    for name in ("User", "Invitation"):
        for row in apps.get_model("panel", name).objects.only("pk").iterator():
            row.key = storage.naming.new_key()
            row.save(update_fields=["key"])


def key(**fields):
    return models.CharField(
        default=storage.naming.new_key, editable=False, max_length=26, **fields
    )


class Migration(migrations.Migration):

    dependencies = [
        ('panel', '0036_walls_of_alerts_and_security_log'),
    ]

    operations = [
        *(
            migrations.AddField(model_name=name, name='key', field=key(null=True))
            for name in ('user', 'invitation')
        ),
        migrations.RunPython(give_keys, migrations.RunPython.noop),
        *(
            migrations.AlterField(model_name=name, name='key', field=key(unique=True))
            for name in ('user', 'invitation')
        ),
        migrations.AlterField(
            model_name='apitoken',
            name='scopes',
            field=ArrayField(models.CharField(choices=SCOPES, max_length=32)),
        ),
    ]
