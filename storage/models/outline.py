"""Summary rows for pages that show all hosts, written when a host reports.

An inventory is megabytes, and a page lists hundreds of hosts; these rows summarise them in one
query.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from storage.models.host import Host


class HostOutline(models.Model):
    """What the last inventory of a host came to. `fast_*` is its space on SSD, `slow_*` that on
    slow disks, in bytes, over all volume groups and without missing disks. `cache_names` are the
    caches that exist, by the names their wishes gave them. `findings` is what the inventory shows
    to be wrong, as `storage.health.inventory_findings.Finding.to_json`, each with the moment it was
    first seen."""

    host = models.OneToOneField(
        Host, on_delete=models.CASCADE, primary_key=True, related_name="outline"
    )
    fast_total_bytes = models.BigIntegerField(default=0)
    fast_free_bytes = models.BigIntegerField(default=0)
    slow_total_bytes = models.BigIntegerField(default=0)
    slow_free_bytes = models.BigIntegerField(default=0)
    cache_names = ArrayField(models.CharField(max_length=127), default=list, blank=True)
    findings = models.JSONField(default=list, blank=True)

    def __str__(self) -> str:
        return f"outline of {self.host}"


class HostLoad(models.Model):
    """What all volumes of a host did in the rounds that ended in the five minutes from `bucket`
    on: sums, as of `storage.metrics.rates.Sums`, but `dt_ms` is the time of the rounds and
    `busy_ms` that of the busiest volume of each round."""

    pk = models.CompositePrimaryKey("bucket", "host_id")
    bucket = models.DateTimeField()
    host = models.ForeignKey(Host, on_delete=models.CASCADE, db_index=False, related_name="+")
    dt_ms = models.BigIntegerField()
    busy_ms = models.BigIntegerField()
    reads = models.BigIntegerField()
    writes = models.BigIntegerField()
    read_sectors = models.BigIntegerField()
    write_sectors = models.BigIntegerField()
    read_ms = models.BigIntegerField()
    write_ms = models.BigIntegerField()
    read_hits = models.BigIntegerField()
    read_misses = models.BigIntegerField()
    bcache_reads = models.BigIntegerField()
    bcache_read_sectors = models.BigIntegerField()
    backing_read_sectors = models.BigIntegerField()

    def __str__(self) -> str:
        return f"host {self.host_id} at {self.bucket:%Y-%m-%d %H:%M}"
