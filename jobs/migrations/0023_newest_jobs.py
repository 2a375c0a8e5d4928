"""Jobs are listed from their index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0022_request_ids_and_changes")]
    operations = [
        migrations.AddIndex(
            model_name="job",
            index=models.Index(fields=["created_at", "key"], name="job_newest"),
        ),
    ]
