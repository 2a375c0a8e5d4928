"""Checks that a request fits: extents, chunks, free space on the named PVs."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence

from ..calls.call import VerbCall
from ..calls.refusals import Refusal
from ..facts.view import Check, Facts, View, space_subject
from ..kernel import lvm

MIB = 1 << 20
METADATA_BASE = 4 * MIB
METADATA_PER_CHUNK = 44
MAX_CHUNKS = 1_000_000


def whole_extents(view: View, call: VerbCall) -> Check:
    def check() -> None:
        extent = view.vg(call.args["vg"])["extent_bytes"]
        if call.args["size_bytes"] % extent:
            raise Refusal(
                "bad_request",
                f"size_bytes must be a multiple of the extent size {extent}.",
                f"Ask for {math.ceil(call.args['size_bytes'] / extent) * extent} bytes.",
            )

    return check


def space(view: View, call: VerbCall, extra_bytes: int = 0) -> Check:
    """The named PVs are usable and have room for the volume and `extra_bytes`; in one piece where
    LVM gives out nothing else."""

    def check() -> None:
        pvs = view.pvs(call.args["vg"], call.args["pvs"])
        free = sum(pv["free_bytes"] for pv in pvs)
        needed = call.args["size_bytes"] + extra_bytes
        if free < needed:
            raise Refusal(
                "no_space",
                f"{needed / MIB:.0f} MiB are needed on {', '.join(call.args['pvs'])}, "
                f"{free / MIB:.0f} MiB are free.",
                "Take less, remove a cache that is not needed any more, or add a device to the VG.",
                subject=space_subject(call.args["vg"]),
            )
        in_one_piece(view, call.args["vg"], call.args["pvs"], call.args["size_bytes"])

    return check


CONTIGUOUS = "contiguous"


def in_one_piece(view: View, vg: str, pvs: Sequence[str], size_bytes: int) -> None:
    """Raises Refusal(no_space) where root lets LVM give out nothing but extents side by side, and
    no PV has so many."""
    group = view.vg(vg)
    if group["allocation"] != CONTIGUOUS:
        return
    longest = lvm.free_pieces(view.host, vg)
    most = max((longest.get(pv["uuid"], 0) for pv in view.pvs(vg, pvs)), default=0)
    if most * group["extent_bytes"] < size_bytes:
        raise Refusal(
            "no_space",
            f"{vg} has the allocation policy contiguous: {size_bytes / MIB:.0f} MiB are needed in "
            f"one piece on {', '.join(pvs)}, where the longest free piece has "
            f"{most * group['extent_bytes'] / MIB:.0f} MiB.",
            "Take less, or as root on the host let LVM use several pieces: "
            f"vgchange --alloc normal {shlex.quote(vg)}",
            subject=space_subject(vg),
        )


def policy_of(view: View, lv: Facts) -> str:
    """How LVM chooses the extents by which a volume grows: its own policy, or its group's."""
    own = str(lv["allocation"])
    return str(view.vg(lv["vg_name"])["allocation"]) if own in ("", "inherit") else own


def described(view: View, call: VerbCall, text_bytes: int) -> Check:
    """LVM's text about the VG has room for `text_bytes` more: old and new must both fit the
    metadata area, else every command that makes the text longer fails, also a way back."""

    def check() -> None:
        vg = view.vg(call.args["vg"])
        if vg["metadata_bytes"] and vg["metadata_free_bytes"] < text_bytes:
            raise Refusal(
                "no_space",
                f"The metadata area of {vg['name']} has {vg['metadata_free_bytes']} bytes left; "
                f"{text_bytes} are needed.",
                "It does not grow in place: use another group, or remove what is not needed.",
            )

    return check


def pool_overhead(size_bytes: int, chunk_bytes: int, extent_bytes: int, spare_bytes: int) -> int:
    """Bytes LVM takes beside a cache pool's data: metadata of 4 MiB and 44 bytes a chunk in whole
    extents (two at least of the usual 4 MiB), and as much again where the VG's spare for repairs
    is smaller."""
    metadata = METADATA_BASE + METADATA_PER_CHUNK * (size_bytes // chunk_bytes)
    metadata = max(math.ceil(metadata / extent_bytes) * extent_bytes, 8 * MIB)
    metadata = math.ceil(metadata / extent_bytes) * extent_bytes
    return metadata + max(0, metadata - spare_bytes)
