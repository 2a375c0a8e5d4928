"""Asking a job's host what is there now."""

from __future__ import annotations

from jobs import failpoints, hosts
from jobs.clock import database_now
from jobs.models import Job
from jobs.trouble import AgentFailed, BadReply
from storage.facts import BadFacts, HostFacts
from storage.models import Host, Placement
from storage.plan import Target
from storage.records import apply_facts


def read_facts(host: Host) -> HostFacts:
    """Ask for an inventory and store it; raises `TransportError`."""
    at = database_now()
    failpoints.reach("read.before")
    reply = hosts.ask(host, "inventory")
    failpoints.reach("read.after")
    if reply.error is not None:
        raise AgentFailed(host.name, reply.error)
    try:
        return apply_facts(host, reply.data, at)
    except BadFacts as error:
        raise BadReply(host.name, str(error)) from None


def placement_of(job: Job) -> Placement:
    """Where the volume lies, as the facts just read have it."""
    return Placement.objects.select_related("volume").get(
        volume_id=job.volume_id, host_id=job.host_id, until=None
    )


def target_of(placement: Placement) -> Target:
    """What a plan aims at."""
    return Target(
        volume_key=placement.volume.key,
        vg_uuid=placement.vg_uuid,
        vg_name=placement.vg_name,
        lv_name=placement.lv_name,
        lv_uuid=placement.lv_uuid,
    )
