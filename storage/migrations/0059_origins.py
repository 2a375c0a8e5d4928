"""Where requests came from gets the name of what it is."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = (("storage", "0058_gates"),)
    operations = (
        migrations.RenameField("benchmark", "door", "request_origin"),
        migrations.RenameField("heattrace", "door", "origin"),
    )
