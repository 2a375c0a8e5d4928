from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0008_patience"),
    ]

    operations = [
        migrations.AddField(
            model_name="job",
            name="disks",
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
