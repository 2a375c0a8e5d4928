"""Workers go on with changes of many volumes. Those that were left half done before, when their pages
were closed, begin with no further volume."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

SENTENCE = "Not begun: its page was closed. Create a new preview."


def end_unfinished(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Give what was not begun a result."""
    for change in apps.get_model("jobs", "BulkChange").objects.all():
        left = change.items[len(change.outcomes) :]
        if left:
            change.outcomes += [[item[0], item[0], "", False, SENTENCE] for item in left]
            change.save(update_fields=["outcomes"])


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0014_bulk_changes'),
    ]

    operations = [
        migrations.AddField(
            model_name='bulkchange',
            name='address',
            field=models.GenericIPAddressField(blank=True, null=True),
        ),
        migrations.RunPython(end_unfinished, migrations.RunPython.noop),
    ]
