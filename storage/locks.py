"""The one order in which rows are locked, lest two wait for each other: the customer, then hosts,
then volumes, each by primary key. Storing an inventory holds the host while it writes its volumes.
"""

from __future__ import annotations

from storage.models import Host, Placement, Volume


def hold(*volumes: Volume, against_jobs: bool = False) -> list[Volume]:
    """The volumes as they are now, by primary key, locked with the hosts they lie on until the
    transaction ends; those that are gone are missing. `against_jobs`: no job is accepted for them
    meanwhile either."""
    asked = [volume.pk for volume in volumes]
    placed = Placement.objects.filter(volume__in=asked, until=None).values("host")
    hosts = Host.objects.filter(pk__in=placed).order_by("pk")
    list(hosts.select_for_update(no_key=True).values_list("pk"))
    held = Volume.objects.filter(pk__in=asked).order_by("pk")
    return list(held.select_for_update(no_key=not against_jobs))
