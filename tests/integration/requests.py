"""Requests to a host's agent past all checks of the panel."""

from __future__ import annotations

from collections.abc import Mapping

from jobs import transport
from jobs.hosts import panel_identity
from jobs.models import VgFence
from jobs.transport.replies import AgentError, Reply
from storage.models import Host
from tests.integration.until import until

OPERATION_SECONDS = 240


def refused(host: Host, verb: str, lv: str) -> AgentError:
    """The error of a request about one LV of vg0, with the right expectations."""
    reply = _asked(host, verb, {"lv": lv})
    assert reply.error is not None, reply.data
    return reply.error


def done(host: Host, verb: str, lv: str, **args: object) -> None:
    """Have such a request run to its end, which must be good."""
    reply = _asked(host, verb, {"lv": lv, **args})
    assert reply.error is None, reply.error
    lookup = {"op": reply.data["op"], "after": 0}

    def ended() -> str | None:
        state = str(transport.call(host, "op.get", lookup).data["state"])
        return None if state == "running" else state

    assert until(f"{verb} has ended", ended, OPERATION_SECONDS) == "done"


def _asked(host: Host, verb: str, args: Mapping[str, object]) -> Reply:
    host.refresh_from_db()
    facts = host.inventory
    assert facts is not None
    found = next(each for each in facts.lvs if (each.vg_name, each.name) == ("vg0", args["lv"]))
    expect = {"vg_uuid": found.vg_uuid, "lv_uuid": found.uuid}
    turn = VgFence.objects.filter(vg_uuid=found.vg_uuid).first()
    fence = (turn.fence if turn is not None else 0) + 1
    VgFence.objects.update_or_create(vg_uuid=found.vg_uuid, defaults={"fence": fence})
    return transport.call(
        host,
        verb,
        {"vg": "vg0", **args},
        expect,
        fence=fence,
        panel=panel_identity.named_to(host),
    )
