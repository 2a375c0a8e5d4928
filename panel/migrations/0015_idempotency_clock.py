from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = (("panel", "0014_sealed_factors"),)

    operations = (
        migrations.AlterField(
            model_name="idempotentrequest",
            name="created_at",
            field=models.DateTimeField(db_default=Now()),
        ),
    )
