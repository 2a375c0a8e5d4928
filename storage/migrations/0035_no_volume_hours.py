"""Samples by the hour are chunks now: the packer makes them of the samples that are kept."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("storage", "0034_updated_at")]

    operations = [migrations.DeleteModel(name="VolumeHour")]
