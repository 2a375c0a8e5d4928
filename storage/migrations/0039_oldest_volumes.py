"""Volumes are listed from their index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0038_facts_digest")]
    operations = [
        migrations.AddIndex(
            model_name="volume",
            index=models.Index(fields=["created_at", "key"], name="volume_oldest"),
        ),
    ]
