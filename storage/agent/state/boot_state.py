"""What this host must restore after a restart: our bcache devices and their settings, and hand-made
ones in the groups that root allowed.

bcache keeps its mode in the superblock and forgets everything else at each registration. The file
is also the list of what may be registered at boot: a tenant who runs make-bcache inside a volume
makes a superblock too, which must never be touched.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..calls import names
from ..calls.call import VerbCall
from ..calls.refusals import Refusal
from ..commands.command import CONGESTION, MADE_CSET, OURS
from ..facts.view import Facts, View
from ..kernel.dm import text
from ..kernel.local_host import LocalHost

PATH = "/var/lib/tiercel/tunables.json"
UNIT = "/etc/systemd/system/tiercel-boot.service"
TIMER = "/etc/systemd/system/tiercel-boot.timer"
REPORT = "/var/lib/tiercel/boot.json"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
# No VG has such a name: it orders the writers of this file and of udev's rules.
FILES = "@files"
FILES_SECONDS = 120.0

# Argument of bcache.attach and bcache.set -> its sysfs file.
SETTINGS = {
    "sequential_cutoff_bytes": "sequential_cutoff",
    "writeback_percent": "writeback_percent",
}
_KNOWN = frozenset((*SETTINGS.values(), *CONGESTION))


_FIELDS = frozenset(("lv_uuid", "vg_uuid", "kind", "uuid", "settings", "by_hand"))


class BootNote(enum.Enum):
    """What an operation of a verb changes of what the next boot brings back."""

    NOTHING = "nothing"
    LINKS = "the links of udev to the volumes"
    TAGGED = "a volume came under management; what root made by hand on it counts from now on"
    CSET_MADE = "a new cache set"
    FORMATTED = "a new backing device"
    SETTINGS = "the settings of a backing device"
    GONE = "what the volume carried"


@dataclass(frozen=True)
class Kept:
    """`kind` is "backing" or "cset", `uuid` what bcache itself calls it, `settings` sysfs file ->
    value to be written. `by_hand`: root made it, not this agent (state/bcache_by_hand.py). `more`
    is what a later release wrote, and finds again."""

    lv_uuid: str
    vg_uuid: str
    kind: str
    uuid: str
    settings: Mapping[str, str]
    by_hand: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            **self.more,
            "lv_uuid": self.lv_uuid,
            "vg_uuid": self.vg_uuid,
            "kind": self.kind,
            "uuid": self.uuid,
            "settings": dict(self.settings),
            "by_hand": self.by_hand,
        }


def load_boot_state(host: LocalHost) -> tuple[Kept, ...]:
    """Everything kept; () before there is anything. Raises Refusal(unsupported) for a file that is
    there and cannot be read or understood: guessing would register what is not ours, and forget
    what is."""
    data = host.read(PATH)
    if data is None and not host.exists(PATH):
        return ()
    try:
        if data is None:
            raise ValueError("the disk does not give it")
        return tuple(_kept(each) for each in json.loads(data.decode("utf-8"))["devices"])
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise Refusal(
            "unsupported",
            f"{PATH} cannot be used: {error}.",
            f"Move the file away and run: agent.pyz boot. Then set each bcache volume's cache "
            f"settings again in the panel, which recreates {PATH}.",
        ) from None


def last(host: LocalHost) -> dict[str, Any]:
    """What `hello` reports: `unit` (it runs at boot, and a timer repeats it), `ran` (in this boot),
    `failed` (sentences)."""
    data = host.read(REPORT)
    ran, failed = False, []
    if data is not None:
        try:
            report = json.loads(data.decode("utf-8"))
            ran = report["boot_id"] == text(host, BOOT_ID)
            failed = [str(line) for line in report["failed"]] if ran else []
        except (ValueError, TypeError, LookupError, RecursionError):
            failed = [f"{REPORT} cannot be read."]
    return {"unit": host.exists(UNIT) and host.exists(TIMER), "ran": ran, "failed": failed}


def after(view: View, call: VerbCall, boot_note: BootNote) -> None:
    """Keep what an operation brought, or will bring. Raises Refusal or OSError."""
    before = load_boot_state(view.host)
    is_kept = boot_note in (BootNote.NOTHING, BootNote.LINKS, BootNote.TAGGED)
    changed = before if is_kept else _changed(before, view, call, boot_note)
    _save(view.host, before, changed, view.facts)


def note_boot_state(host: LocalHost, facts: Facts) -> None:
    """Keep what is at work and was not noted: an operation that was killed after its last command,
    or an agent of an earlier release. Raises Refusal or OSError."""
    before = load_boot_state(host)
    _save(host, before, before, facts)


def add(host: LocalHost, made: Iterable[Kept], facts: Facts) -> None:
    """Keep these, in place of what was noted of the same LVs. Raises Refusal or OSError."""
    before, fresh = load_boot_state(host), tuple(made)
    lvs = {each.lv_uuid for each in fresh}
    _save(host, before, (*(each for each in before if each.lv_uuid not in lvs), *fresh), facts)


def _save(host: LocalHost, before: tuple[Kept, ...], kept: tuple[Kept, ...], facts: Facts) -> None:
    devices = (*_alive(kept, facts), *_unnoted(kept, facts))
    if devices != before:
        document = {"devices": [each.to_json() for each in devices]}
        host.save(PATH, json.dumps(document, indent=1).encode() + b"\n")


def _unnoted(kept: Iterable[Kept], facts: Facts) -> Iterable[Kept]:
    """Our cache sets, and our volumes that use one: no tenant's superblock is attached to those."""
    known = {each.lv_uuid for each in kept}
    ours = {lv["uuid"]: lv for lv in facts["lvs"] if OURS in lv["tags"]}
    csets = {
        cset["uuid"]: ours[cset["lv_uuid"]]
        for cset in facts["csets"]
        if cset["lv_uuid"] in ours and MADE_CSET in ours[cset["lv_uuid"]]["tags"]
    }
    for uuid, lv in csets.items():
        if lv["uuid"] not in known:
            yield _new(lv, "cset", uuid, dict.fromkeys(CONGESTION, "0"))
    for lv in ours.values():
        backing = lv["bcache"]
        if backing is not None and backing["cset_uuid"] in csets and lv["uuid"] not in known:
            settings = {
                "sequential_cutoff": str(backing["sequential_cutoff_bytes"]),
                "writeback_percent": str(backing["writeback_percent"]),
            }
            yield _new(lv, "backing", backing["uuid"], settings)


def _changed(
    before: tuple[Kept, ...], view: View, call: VerbCall, boot_note: BootNote
) -> tuple[Kept, ...]:
    args = call.args
    if boot_note is BootNote.CSET_MADE:
        lv = view.lv(args["vg"], args["name"])
        made = _new(lv, "cset", args["cset_uuid"], dict.fromkeys(CONGESTION, "0"))
        return (*_without(before, lv["uuid"]), made)
    if boot_note is BootNote.GONE:
        return _without(before, str(call.expect.get("lv_uuid", "")))
    lv = view.lv(args["vg"], args["lv"])
    if lv["bcache"] is None:
        raise Refusal(
            "stale",
            f"{args['vg']}/{args['lv']} is not at work as a bcache device any more.",
            "Read the host's facts again, then plan again.",
        )
    known = next((each for each in before if each.lv_uuid == lv["uuid"]), None)
    settings = dict(known.settings) if known is not None else {}
    settings.update({SETTINGS[key]: str(args[key]) for key in SETTINGS if key in args})
    made = _new(lv, "backing", lv["bcache"]["uuid"], settings)
    if known is not None and boot_note is not BootNote.FORMATTED:
        made = replace(made, by_hand=known.by_hand, more=known.more)
    return (*_without(before, lv["uuid"]), made)


def _new(lv: Facts, kind: str, uuid: str, settings: Mapping[str, str]) -> Kept:
    return Kept(lv["uuid"], lv["vg_uuid"], kind, uuid, settings)


def _without(kept: Iterable[Kept], lv_uuid: str) -> tuple[Kept, ...]:
    return tuple(each for each in kept if each.lv_uuid != lv_uuid)


def _alive(kept: Iterable[Kept], facts: Facts) -> Iterable[Kept]:
    """Without volumes that are gone from a VG that is whole; a VG that is away, or left out, may
    return."""
    left_out = {*facts["guests"], *(each["vg_uuid"] for each in facts["unsound"])}
    whole = {vg["uuid"] for vg in facts["vgs"] if not vg["missing_pv_count"]} - left_out
    lv_uuids = {lv["uuid"] for lv in facts["lvs"]}
    return (each for each in kept if each.lv_uuid in lv_uuids or each.vg_uuid not in whole)


def _kept(document: Any) -> Kept:
    if document["kind"] not in ("backing", "cset"):
        raise ValueError(f"unknown kind {document['kind']!r:.40}")
    settings = {}
    for name, value in document["settings"].items():
        if name not in _KNOWN or not isinstance(value, str) or not value.isdecimal():
            raise ValueError(f"unknown setting {name!r:.40}")
        settings[name] = value
    return Kept(
        names.lvm_uuid(document["lv_uuid"]),
        names.lvm_uuid(document["vg_uuid"]),
        document["kind"],
        names.uuid(document["uuid"]),
        settings,
        document.get("by_hand") is True,
        {name: value for name, value in document.items() if name not in _FIELDS},
    )
