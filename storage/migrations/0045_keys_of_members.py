from django.db import migrations, models

import storage.naming


def give_keys(apps, schema_editor):
    for row in apps.get_model("storage", "Member").objects.only("pk").iterator():
        row.key = storage.naming.new_key()
        row.save(update_fields=["key"])


def key(**fields):
    return models.CharField(
        default=storage.naming.new_key, editable=False, max_length=26, **fields
    )


class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0044_walls_of_hosts'),
    ]

    operations = [
        migrations.AddField(model_name='member', name='key', field=key(null=True)),
        migrations.RunPython(give_keys, migrations.RunPython.noop),
        migrations.AlterField(model_name='member', name='key', field=key(unique=True)),
    ]
