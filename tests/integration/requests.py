"""Requests to a host's agent past all checks of the panel."""

from __future__ import annotations

from jobs import transport
from jobs.hosts import panel_identity
from jobs.models import VgFence
from jobs.transport.replies import AgentError
from storage.models import Host


def refused(host: Host, verb: str, lv: str) -> AgentError:
    """The error of a request about one LV of vg0, with the right expectations."""
    host.refresh_from_db()
    facts = host.inventory
    assert facts is not None
    found = next(each for each in facts.lvs if (each.vg_name, each.name) == ("vg0", lv))
    expect = {"vg_uuid": found.vg_uuid, "lv_uuid": found.uuid}
    turn = VgFence.objects.filter(vg_uuid=found.vg_uuid).first()
    fence = (turn.fence if turn is not None else 0) + 1
    VgFence.objects.update_or_create(vg_uuid=found.vg_uuid, defaults={"fence": fence})
    reply = transport.call(
        host,
        verb,
        {"vg": "vg0", "lv": lv},
        expect,
        fence=fence,
        panel=panel_identity.named_to(host),
    )
    assert reply.error is not None, reply.data
    return reply.error
