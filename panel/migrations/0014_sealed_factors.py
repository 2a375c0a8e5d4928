"""Second factors that lie in plain text are sealed (`panel.authentication.second_factor`)."""

from django.db import migrations

from panel.authentication.second_factor import MARK, changed, seal, unseal


def seal_all(apps, schema_editor):
    each(apps, lambda text: text if text.startswith(MARK) else seal(text))


def unseal_all(apps, schema_editor):
    each(apps, lambda text: unseal(text) if text.startswith(MARK) else text)


def each(apps, change):
    for found in apps.get_model("mfa", "Authenticator").objects.select_for_update().all():
        data = changed(found.data, change)
        if data != found.data:
            found.data = data
            found.save(update_fields=["data"])


class Migration(migrations.Migration):
    dependencies = [
        ("panel", "0013_security_log"),
        ("mfa", "0003_authenticator_type_uniq"),
    ]

    operations = [migrations.RunPython(seal_all, unseal_all)]
