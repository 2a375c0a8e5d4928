"""The longest times of a flapping alert get the names of what they are."""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = (("jobs", "0028_benchmarks"),)
    operations = (
        migrations.RenameField("alert", "swing", "longest_absence"),
        migrations.RenameField("alert", "spell", "longest_presence"),
    )
