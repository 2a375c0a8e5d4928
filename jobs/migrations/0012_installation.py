import django.db.models.functions.datetime
from django.db import migrations, models

import jobs.models.locks


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0011_previewed_volumes"),
    ]

    operations = [
        migrations.CreateModel(
            name="Installation",
            fields=[
                ("id", models.BooleanField(default=True, primary_key=True, serialize=False)),
                ("panel", models.UUIDField(default=jobs.models.locks.new_panel)),
                ("ancestors", models.JSONField(blank=True, default=list)),
                (
                    "since",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("restored_at", models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.AddConstraint(
            model_name="installation",
            constraint=models.CheckConstraint(
                condition=models.Q(("id", True)), name="installation_once"
            ),
        ),
        migrations.AddField(
            model_name="vgfence",
            name="ahead",
            field=models.BigIntegerField(blank=True, null=True),
        ),
    ]
