"""Hand-made bcache on logical volumes, from before Tiercel or next to it.

A running bcache does not show who made it: the distribution registers a guest's superblock as well
as root's. If something uses the bcache device and nothing the volume below it, the host itself made
it: it is recorded (state/boot_state.py), and is started as before. A guest that wrote a superblock
uses the volume itself. If neither is in use, root decides whose it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..benchmark import scratch
from ..calls.refusals import Problem, Refusal, problem
from ..commands.command import FORMAT_BCACHE, MADE_CSET, OURS, REGISTER, device
from ..commands.retirement import is_retired
from ..facts.view import Check, Facts, View, lv_subject
from ..guests import users
from ..kernel import bcache_sysfs
from ..kernel.dm import text
from ..kernel.local_host import LocalHost
from . import boot_state
from .boot_state import Kept
from .policy import AGENT

COMMAND = f"{AGENT} keep-bcache"


@dataclass
class RunningBcache:
    """What is registered on LVs and not noted: the host's `own`, and why its owner is `unclear`, by
    the uuid of the LV. What is in neither is a guest's."""

    own: list[Kept] = field(default_factory=list)
    unclear: dict[str, str] = field(default_factory=dict)


def look(host: LocalHost, facts: Facts, kept: Iterable[Kept]) -> RunningBcache:
    """Who made what is at work. Nothing is asked where all of it is noted."""
    noted = {(each.lv_uuid, each.uuid) for each in kept}
    sets = _sets(facts)
    backings = [
        lv
        for lv in facts["lvs"]
        if lv["bcache"] is not None
        and (lv["uuid"], lv["bcache"]["uuid"]) not in noted
        and not _is_the_agents(lv)
    ]
    caches = [
        lv
        for lv in facts["lvs"]
        if lv["uuid"] in sets
        and (lv["uuid"], sets[lv["uuid"]]) not in noted
        and not _is_the_agents(lv)
    ]
    result = RunningBcache()
    if not backings and not caches:
        return result
    used = _Users(host, [*backings, *caches])
    set_lvs = {sets[lv["uuid"]]: lv for lv in caches}
    for lv in backings:
        why = _doubt(lv, used, set_lvs)
        if why is None:
            result.own.append(_backing(lv))
        elif why:
            result.unclear[lv["uuid"]] = why
    ours = {*noted, *((each.lv_uuid, each.uuid) for each in result.own)}
    served = {
        lv["bcache"]["cset_uuid"]
        for lv in facts["lvs"]
        if lv["bcache"] is not None and (lv["uuid"], lv["bcache"]["uuid"]) in ours
    }
    for uuid, lv in set_lvs.items():
        if used.below(lv):
            continue
        if uuid in served:
            result.own.append(_cset(lv, uuid))
        else:
            result.unclear[lv["uuid"]] = "no volume that is known to be the host's uses this set"
    return result


def note_bcache_by_hand(host: LocalHost, facts: Facts) -> None:
    """Keep what is the host's own in the VGs that root names. Raises Refusal or OSError."""
    own = look(host, facts, boot_state.load_boot_state(host)).own
    boot_state.add(host, [each for each in own if each.vg_uuid in facts["named"]], facts)


def note_all_of(host: LocalHost, facts: Facts, vg_uuid: str) -> None:
    """Keep what is the host's own in a VG before root allows it. Raises Refusal(unsupported) where
    an owner is unclear; OSError."""
    at_work = look(host, facts, boot_state.load_boot_state(host))
    lvs = [lv for lv in facts["lvs"] if lv["vg_uuid"] == vg_uuid]
    doubts = [lv for lv in lvs if lv["uuid"] in at_work.unclear]
    if doubts:
        raise Refusal(
            "unsupported",
            " ".join(_message(lv, at_work.unclear[lv["uuid"]]) for lv in doubts)
            + " In a group that the panel may change, guests' bcache is not registered.",
            " ".join(_cure(lv) for lv in doubts),
        )
    boot_state.add(host, [each for each in at_work.own if each.vg_uuid == vg_uuid], facts)


def by_root(host: LocalHost, facts: Facts, name: str) -> None:
    """Keep what root says is the host's own: the bcache at work on VG/LV, and its cache device.
    Raises Refusal(not_found | unsupported | in_use), OSError."""
    lv = next((lv for lv in facts["lvs"] if f"{lv['vg_name']}/{lv['name']}" == name), None)
    if lv is None:
        raise Refusal("not_found", f"There is no volume {name!r}.", "Name it as VG/LV: see lvs.")
    sets = _sets(facts)
    if lv["bcache"] is None and lv["uuid"] not in sets:
        raise Refusal(
            "unsupported",
            f"{name} is no bcache device at work, so nothing shows what it is.",
            f"If it has your superblock: echo {device(lv['vg_name'], lv['name'])} > {REGISTER}; "
            "then run this again.",
        )
    named = [lv]
    if lv["bcache"] is not None:
        cset_uuid = lv["bcache"]["cset_uuid"]
        named += [each for each in facts["lvs"] if sets.get(each["uuid"], "") == cset_uuid]
    used = _Users(host, named)
    for each in named:
        if used.below(each):
            raise Refusal(
                "in_use",
                f"{each['vg_name']}/{each['name']} itself is used by {used.below(each)}, not its "
                "bcache device: who uses it may have written the superblock.",
                "Give it the bcache device, or end it; then run this again.",
            )
    noted = {(each.lv_uuid, each.uuid): each for each in boot_state.load_boot_state(host)}
    fresh = []
    for each in named:
        made = _backing(each) if each["bcache"] is not None else _cset(each, sets[each["uuid"]])
        before = noted.get((made.lv_uuid, made.uuid))
        if before is None:
            fresh.append(made)
        elif not before.by_hand and not _is_the_agents(each):
            # An agent that knew nothing of hands wrote the file in between.
            fresh.append(replace(before, by_hand=True))
    boot_state.add(host, fresh, facts)


def is_sure(view: View, vg: str, name: str) -> Check:
    """A volume that comes under management is no bcache of an unknown maker."""

    def check() -> None:
        lv = view.lv(vg, name)
        why = look(view.host, view.facts, boot_state.load_boot_state(view.host)).unclear.get(
            lv["uuid"]
        )
        if why is not None:
            raise Refusal("unsupported", _message(lv, why), _cure(lv), subject=lv_subject(vg, name))

    return check


def left_to_udev(facts: Facts, kept: Iterable[Kept]) -> Iterator[tuple[Facts, Kept]]:
    """What was made by hand and the distribution's rule goes on to register, early enough for what
    is mounted from it: a cache device only as long as it is no guest's volume."""
    lvs = {lv["uuid"]: lv for lv in facts["lvs"]}
    for each in kept:
        lv = lvs.get(each.lv_uuid)
        if lv is None or not each.by_hand or is_retired(lv["tags"]):
            continue
        if each.kind == "backing" or OURS not in lv["tags"]:
            yield lv, each


def bcache_problems(host: LocalHost, facts: Facts) -> Iterable[Problem]:
    """What has no clear owner, before anything is hidden, and what a restart would lose."""
    try:
        at_work = look(host, facts, boot_state.load_boot_state(host))
    except Refusal as refusal:
        yield problem("tunables_broken", "error", refusal.message, refusal.correction)
        return
    unclear = at_work.unclear
    lost = {
        each.lv_uuid
        for each in at_work.own
        if each.kind == "backing" and each.vg_uuid in facts["named"]
    }
    for lv in facts["lvs"]:
        name = f"{lv['vg_name']}/{lv['name']}"
        if lv["uuid"] in lost:
            yield problem(
                "bcache_not_noted",
                "error",
                f"The bcache on {name} is in use and not noted: after a restart it would not come "
                "back.",
                f"As root on the host run: {AGENT} boot",
                subject=name,
            )
        if lv["uuid"] in unclear:
            severity = "warning" if lv["vg_uuid"] in facts["named"] else "info"
            message = (
                f"{_message(lv, unclear[lv['uuid']])} In a group that the panel may change it may "
                "not start after a restart."
            )
            yield problem("bcache_unclear", severity, message, _cure(lv), subject=name)


class _Users:
    """Who uses some LVs themselves, and who their bcache devices."""

    def __init__(self, host: LocalHost, lvs: Sequence[Facts]) -> None:
        tops = {lv["uuid"]: _device_number(host, lv) for lv in lvs}
        numbers = {number for number in tops.values() if number}
        users_by_device = users.of_devices(host, {*numbers, *(str(lv["dev"]) for lv in lvs)})
        self._below = {lv["uuid"]: _names(users_by_device[str(lv["dev"])]) for lv in lvs}
        self._above = {
            uuid: _names(users_by_device.get(number, ())) for uuid, number in tops.items()
        }

    def below(self, lv: Facts) -> str:
        return self._below[lv["uuid"]]

    def above(self, lv: Facts) -> str:
        return self._above[lv["uuid"]]


def _names(users: Sequence[Mapping[str, Any]]) -> str:
    """Not what the kernel or a rule put on it: a guest's own superblocks bring that about."""
    return ", ".join(f"{each['kind']} {each['name']}" for each in users if each["kind"] != "holder")


def _device_number(host: LocalHost, lv: Facts) -> str:
    top = lv["bcache"]["device"] if lv["bcache"] is not None else None
    return "" if top is None else text(host, f"/sys/block/{top}/dev")


def _sets(facts: Facts) -> dict[str, str]:
    """The uuid of the cache set on each LV, by the LV's."""
    return {each["lv_uuid"]: each["uuid"] for each in facts["csets"] if each["lv_uuid"]}


def _is_the_agents(lv: Facts) -> bool:
    """The agent made it, makes it just now, or is about to end it."""
    is_scratch = scratch.key_of(lv) is not None
    return (
        is_scratch or is_retired(lv["tags"]) or bool({FORMAT_BCACHE, MADE_CSET} & set(lv["tags"]))
    )


def _doubt(lv: Facts, used: _Users, set_lvs: Mapping[str, Facts]) -> str | None:
    """Why it may or may not be the host's own; "" where it is a guest's, None for no doubt."""
    if used.below(lv) and not used.above(lv):
        return ""
    if used.below(lv):
        return f"it is used by {used.below(lv)}, and its bcache device by {used.above(lv)}"
    if lv["bcache"]["device"] is None:
        return "it waits for its cache set"
    if not used.above(lv):
        return f"nothing uses {lv['bcache']['device']}, so nothing shows who made it"
    cache = set_lvs.get(lv["bcache"]["cset_uuid"])
    if cache is not None and used.below(cache):
        return f"its cache lies on {cache['vg_name']}/{cache['name']}, used by {used.below(cache)}"
    return None


def _backing(lv: Facts) -> Kept:
    return Kept(lv["uuid"], lv["vg_uuid"], "backing", lv["bcache"]["uuid"], {}, by_hand=True)


def _cset(lv: Facts, uuid: str) -> Kept:
    return Kept(lv["uuid"], lv["vg_uuid"], "cset", uuid, {}, by_hand=True)


def _message(lv: Facts, why: str) -> str:
    return f"{lv['vg_name']}/{lv['name']} is bcache at work that Tiercel did not make: {why}."


def _cure(lv: Facts) -> str:
    here = bcache_sysfs.folder(lv["kname"])
    end = f"{here}/stop" if lv["bcache"] is not None else f"{here}/set/unregister"
    return (
        f"If you made it, as root on the host: {COMMAND} {lv['vg_name']}/{lv['name']}. If a guest "
        f"did: echo 1 > {end}"
    )
