"""The one order in which rows are locked, to prevent deadlocks: the customer, then hosts, then
volumes, each by primary key. Storing an inventory locks the host while it writes its volumes."""

from __future__ import annotations

from django.http import Http404

from storage.models import Host, Placement, Volume


class Gone(Http404):
    """The volume was forgotten since it was looked up; for a page or an API request a 404."""

    def __init__(self) -> None:
        super().__init__("The volume no longer exists.")


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


def hold_one(volume: Volume, *, against_jobs: bool = False) -> Volume:
    """`hold` for one that must still be there; raises `Gone`."""
    for held in hold(volume, against_jobs=against_jobs):
        return held
    raise Gone
