"""bcache.set and bcache.flush: how a volume's bcache writes."""

from __future__ import annotations

from ..calls.refusals import Refusal
from ..facts.view import Check, View, lv_subject
from ..wire.protocol import VerbCall
from . import checks
from .backing import differing, has_device, identity, redundant_set, touches
from .verb import Verb


def _set_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    return frozenset(differing(checks.backing(view, call), call.args))


def _set_redundant(view: View, call: VerbCall) -> Check:
    """A mode written while no cache is there would hold for the next one: it is refused."""

    def check() -> None:
        found = checks.backing(view, call)
        if found["cset_uuid"] is None and call.args.get("cache_mode") == "writeback":
            raise Refusal(
                "not_redundant",
                "writeback can only be set while a cache is attached.",
                "Attach the cache first and give the mode there.",
                subject=lv_subject(call.args["vg"], call.args["lv"]),
            )
        redundant_set(view, call, found["cset_uuid"])()

    return check


SET = Verb(
    identity=identity,
    todo=_set_todo,
    state=lambda view, call: [_set_redundant(view, call)],
    touches=touches,
)


def _flush_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    found = checks.backing(view, call)
    if found["dirty_bytes"] > call.args["dirty_limit_bytes"]:
        return None
    return frozenset(differing(found, call.args))


# The guest may have made new dirty data by the time it is over.
FLUSH = Verb(
    identity=identity,
    todo=_flush_todo,
    state=lambda view, call: [has_device(view, call)],
    touches=touches,
    settled=False,
)
