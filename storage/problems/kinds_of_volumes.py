"""Kinds of problems of volumes."""

from __future__ import annotations

from functools import partial
from typing import Final

from storage.problems.kinds_of_caches import BROKEN
from storage.problems.problem_kind import ProblemKind

_volume: Final = partial(ProblemKind, about="volume")

VOLUME_KINDS: Final = (
    _volume(
        "inventory_shrank",
        "Most volumes missing",
        "Most volumes of {count} hosts are missing",
        "A disk or a whole volume group may be gone.",
        about="host",
        message="{missing} of {total} volumes are missing since {began}{groups}: the inventory "
        "shrank; nothing was deleted here.",
        correction="Check on the host that every disk is there: vgs; pvs; mdadm --detail --scan",
        family="missing",
        is_data_at_risk=True,
        follows=("pv_missing",),
        way="missing",
        listing="missing_volumes",
    ),
    _volume(
        "volumes_missing",
        "Volumes missing",
        "Volumes of {count} hosts are missing",
        "Customers may pay for volumes that no longer exist.",
        about="host",
        message="{volumes} {verb} missing since {began}; nothing was deleted in the panel.",
        correction="Removed or moved on the host? See the list under Volumes.",
        family="missing",
        hold_seconds=120,
        follows=("pv_missing",),
        way="missing",
        listing="missing_volumes",
    ),
    _volume(
        "volume_frozen",
        "Volume frozen",
        "{count} volumes are suspended",
        "Every I/O waits: guests hang.",
        judged_by="sample",
        follows=BROKEN,
        several="{} suspended",
    ),
    _volume(
        "volume_slow",
        "Volume slow",
        "{count} volumes are slow",
        "Guests wait for the disk.",
        # It lasted for two samples before, and is well for minutes once it is gone.
        hold_seconds=0,
        resolve_seconds=0,
        is_about_speed=True,
        judged_by="read_time",
        several="{} slow",
        many_over="{volumes} were slow, until {until}",
        many_partly="{volumes} slow now, {over} no longer",
        consequence_over="Guests waited for the disk.",
    ),
    _volume(
        "volume_inactive",
        "Volume inactive",
        "{count} volumes are inactive",
        "Guests cannot start.",
        hold_seconds=120,
        is_expected_during_jobs=True,
        is_also_reported=True,
        follows=("pv_missing", "ssd_lost", "cache_lost", "cache_failed"),
        several="{} not active",
    ),
    _volume(
        "drift",
        "Volume differs from the record",
        "{count} volumes differ from the record",
        "A manual change is not recorded: the next job may fail or undo it.",
        hold_seconds=120,
        is_expected_during_jobs=True,
        follows=("pv_missing", "ssd_lost", "cache_lost", "cache_failed", "volume_inactive"),
        several="{} not as recorded",
    ),
    _volume(
        "unfinished",
        "Volume not finished",
        "{count} new volumes are not finished",
        "Old data of other customers may still be there.",
        hold_seconds=120,
        is_expected_during_jobs=True,
        follows=("pv_missing", "ssd_lost", "cache_lost"),
        several="{} not finished",
    ),
    _volume(
        "orphan_device",
        "Leftover device",
        "{count} devices without a volume are left in the kernel",
        "The blocks may belong to another volume now. A program that opens such a device could "
        "overwrite that volume.",
        about="host",
        hold_seconds=120,
    ),
    _volume(
        "unread_facts",
        "Part of a host not understood",
        "Parts of {count} inventories cannot be read",
        "What cannot be read is not shown, and nothing of its group is changed.",
        about="host",
    ),
)
