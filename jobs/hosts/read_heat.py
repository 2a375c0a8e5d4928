"""Heat: name the volumes to observe to a host's agent, and store what it has counted."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any, Final

from django.db.models import F

from jobs.hosts import contact, panel_identity
from jobs.transport.errors import AgentFailed, TransportError
from jobs.transport.replies import Reply
from storage.agent.state.heat_files import OFF, VOLUMES_LIMIT
from storage.analysis import heat_store
from storage.database_clock import database_now
from storage.host_data import BadHostData
from storage.models import Host, Placement, Volume
from storage.volumes import ownership

log = logging.getLogger(__name__)

NEWLY_OWNED: Final = timedelta(days=1)
MOST_ANSWERS: Final = 200
"""Of one host in a round, about 1 MiB each: more than a host stores."""


def hosts_that_count() -> list[Host]:
    """Active hosts whose agent knows heat, and whose root lets it be counted."""
    hosts = Host.objects.active().without_inventory()
    return [host for host in hosts if host.heat_state not in ("", OFF)]


def read_heat(host: Host) -> bool:
    """Name the volumes to observe, and store the host's records; False where it did not answer or
    sent invalid data. An answer is stored before the next request lets the host delete it."""
    try:
        observed = observed_uuids(host)
        _ask(host, "heat.observe", {"lv_uuids": observed})
        newly_owned = _newly_owned(host, observed)
        if newly_owned and "maps" in host.hello.get("heat", {}):
            _ask(host, "heat.forget", {"lv_uuids": newly_owned})
        after = 0
        for _ in range(MOST_ANSWERS):
            reply = _ask(host, "heat.records", {"after": after})
            sent = heat_store.record_heat(host, reply.data, database_now())
            if sent.last == after:
                break
            after = sent.last
    except (TransportError, BadHostData) as error:
        log.warning("heat of host %s: %s", host.name, error)
        return False
    return True


def observed_uuids(host: Host) -> list[str]:
    """Volumes in allowed groups whose heat may be counted. Where there are more than an agent
    observes, those that read the most by their last sample. One query."""
    placements = (
        Placement.objects.filter(
            host=host,
            until=None,
            vg_name__in=host.allowed_vgs,
            volume__in=Volume.objects.in_service().filter(counts_heat=True),
        )
        .exclude(lv_uuid=None)
        .order_by(F("volume__latest_sample__read_sectors").desc(nulls_last=True), "pk")
    )
    uuids = placements.values_list("lv_uuid", flat=True)[:VOLUMES_LIMIT]
    return sorted(uuid for uuid in uuids if uuid is not None)


def _newly_owned(host: Host, lv_uuids: list[str]) -> list[str]:
    """Volumes that belonged to another customer until yesterday or later: their hot blocks do not
    concern the new one. Two queries."""
    there = Placement.objects.filter(host=host, until=None, lv_uuid__in=lv_uuids)
    uuids = {each.volume: str(each.lv_uuid) for each in there.select_related("volume")}
    since = ownership.owned_since_by_volume(uuids)
    begin = database_now() - NEWLY_OWNED
    return sorted(
        uuid for volume, uuid in uuids.items() if volume.pk in since and since[volume.pk] > begin
    )


def _ask(host: Host, verb: str, args: dict[str, Any]) -> Reply:
    reply = contact.ask(host, verb, args, panel=panel_identity.named_to(host))
    if reply.error is not None:
        raise AgentFailed(host.name, reply.error)
    return reply
