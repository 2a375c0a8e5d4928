"""A volume that was only ever previewed is told from a real one, and holds no external id."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0014_cache_plan_of_a_size")]

    operations = [
        migrations.AddField("volume", "previewed_at", models.DateTimeField(blank=True, null=True)),
        migrations.RemoveConstraint("volume", "volume_external_id_once"),
        migrations.AddConstraint(
            "volume",
            models.UniqueConstraint(
                fields=("external_id",),
                condition=~models.Q(external_id="") & models.Q(previewed_at=None),
                name="volume_external_id_once",
                violation_error_message="Another volume has this external id.",
            ),
        ),
    ]
