"""What this agent created for a volume: a cache pool, a cache device, reserved space for an
extension, vacated extents while they are cleared. Such an LV carries a tag that only the agent's
own lvcreate sets; without the tag nothing is removed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..calls import names
from ..calls.refusals import Refusal
from ..facts.view import Check, Facts, View, lv_subject
from ..kernel.local_host import LocalHost
from .command import (
    MADE_CSET,
    MADE_LEFT,
    MADE_POOL,
    MADE_PREFIX,
    MADE_ROOM,
    OURS,
    Command,
    run,
    volume_tag,
)

WHAT = {
    MADE_POOL: "a cache pool",
    MADE_CSET: "the cache device of a bcache volume",
    MADE_ROOM: "room for a volume to grow into",
    MADE_LEFT: "what a volume left behind, to be cleared",
}
PATTERNS = {
    MADE_POOL: names.made("c"),
    MADE_CSET: names.made("s"),
    MADE_ROOM: names.made("x"),
    MADE_LEFT: names.made("w"),
    "retired": names.made("del"),
}


def made(view: View, vg: str, name: str, mark: str) -> Check:
    """The LV is what this agent made as `mark` says."""

    def check() -> None:
        if mark in view.lv(vg, name)["tags"]:
            return
        raise Refusal(
            "not_ours",
            f"{vg}/{name} does not carry the tag {mark}: Tiercel did not make it as {WHAT[mark]}.",
            f"Look at what is on it. If it is left over from a Tiercel before version 0.3, root "
            f"marks it: lvchange --addtag {mark} {vg}/{name}",
            subject=lv_subject(vg, name),
        )

    return check


def own_pool(view: View, cache: Facts) -> None:
    """Raises Refusal(not_ours) for a cache whose pool Tiercel did not make: only its maker removes
    it. LVM tags no hidden LV, so a pool at work from before the mark has our first tag alone."""
    pool = view.lv_by_uuid(cache["pool_uuid"])
    if pool is None or OURS not in pool["tags"]:
        raise Refusal(
            "not_ours",
            f"The cache pool {cache['pool']} was not made by Tiercel, and detaching removes it.",
            "Detach it on the host: lvconvert --splitcache of its volume.",
        )


def is_name_of_ours(name: str) -> bool:
    """True for what only Tiercel may call an LV beside a volume, and for a retired volume."""
    return any(_fits(name, kind) for kind in PATTERNS)


def is_name_beside(name: str) -> bool:
    """True for what Tiercel calls what it makes beside a volume, marked or not."""
    return any(_fits(name, kind) for kind in WHAT)


def _fits(name: str, kind: str) -> bool:
    try:
        PATTERNS[kind](name)
    except ValueError:
        return False
    return True


def unmarked(
    host: LocalHost, facts: Facts, marks: Mapping[str, str]
) -> Iterator[tuple[str, Command]]:
    """(VG, command) for each LV that an agent before the mark made and that lacks it; `marks` are
    those that verbs give to what they make. The journal has to show the lvcreate that ended well:
    a request that went on with what it found made nothing. Of what is older than the journal only
    a cache device is recognised: its set is in front of the volume whose key it carries."""
    allowed = {vg["uuid"] for vg in facts["vgs"] if vg["allowed"]}
    candidates = {
        (lv["vg_uuid"], lv["name"]): lv
        for lv in facts["lvs"]
        if lv["vg_uuid"] in allowed and OURS in lv["tags"] and not _marks(lv["tags"])
    }
    if not candidates:
        return
    for op in host.op_ids():
        record = host.op_load(op)
        if record is None or record["call"]["verb"] not in marks:
            continue
        for name, size_bytes in _created(record):
            lv = candidates.get((record["call"]["expect"]["vg_uuid"], name))
            tag = volume_tag(record["call"]["args"]["volume_key"])
            if lv is None or tag not in lv["tags"] or lv["size_bytes"] != size_bytes:
                continue
            del candidates[lv["vg_uuid"], name]
            yield _mark(lv, marks[record["call"]["verb"]])
    at_work = {cset["lv_uuid"]: cset["uuid"] for cset in facts["csets"]}
    for lv in candidates.values():
        if _fits(lv["name"], MADE_CSET) and _serves(lv, at_work.get(lv["uuid"]), facts["lvs"]):
            yield _mark(lv, MADE_CSET)


def _mark(lv: Facts, mark: str) -> tuple[str, Command]:
    where = f"{lv['vg_name']}/{lv['name']}"
    return lv["vg_name"], run("mark", "lvchange", "--addtag", mark, where)


def _serves(device: Facts, cset_uuid: str | None, lvs: list[Facts]) -> bool:
    """The set on the device is in front of a managed volume of the same key and group."""
    keys = [tag for tag in device["tags"] if tag.startswith(volume_tag(""))]
    return cset_uuid is not None and any(
        lv["vg_uuid"] == device["vg_uuid"]
        and {OURS, *keys} <= set(lv["tags"])
        and lv["bcache"] is not None
        and lv["bcache"]["cset_uuid"] == cset_uuid
        for lv in lvs
        if keys and lv["uuid"] != device["uuid"]
    )


def _marks(tags: list[str]) -> list[str]:
    return [tag for tag in tags if tag.startswith(MADE_PREFIX)]


def _created(record: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Name and size of what the operation's lvcreate made."""
    for command in record["commands"]:
        argv = command["argv"]
        if argv[0] == "lvcreate" and command["rc"] == 0:
            # -L 67108864b
            yield argv[argv.index("-n") + 1], int(argv[argv.index("-L") + 1][:-1])
