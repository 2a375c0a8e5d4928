"""Kinds of problems of disks, the gravest first."""

from __future__ import annotations

from functools import partial
from typing import Final

from storage.problems.kinds_of_arrays import ARRAYS
from storage.problems.problem_kind import JUDGED_TWICE_SECONDS, ProblemKind

_disk: Final = partial(ProblemKind, about="disk", way="disks")

DISK_KINDS: Final = (
    _disk(
        "disk_vanished",
        "Disk gone",
        "{count} disks are gone",
        "Data stored only there is lost. A hardware array may be degraded.",
        is_data_at_risk=True,
        judged_by="smart",
        follows=(*ARRAYS, "pv_missing"),
        follows_late=("array_degraded", "array_weakened", "pv_missing"),
    ),
    _disk(
        "disk_failing",
        "Disk failing",
        "{count} disks report that they are failing",
        "The disk may lose data or stop at any time.",
        is_data_at_risk=True,
        judged_by="smart",
    ),
    _disk(
        "attribute_failed",
        "SMART attribute below threshold",
        "{count} disks are below a limit of their maker",
        "The disk may lose data or stop at any time.",
        is_data_at_risk=True,
        judged_by="smart",
    ),
    _disk(
        "self_test_failed",
        "Self-test failed",
        "{count} disks failed their last self-test",
        "Some of the disk cannot be read any more.",
        is_data_at_risk=True,
        judged_by="smart",
    ),
    _disk(
        "spare_low",
        "SSD without spare blocks",
        "{count} SSDs have hardly any spare blocks left",
        "Without spare blocks an SSD stops accepting writes.",
        is_data_at_risk=True,
        judged_by="smart",
    ),
    _disk(
        "uncorrectable_rose",
        "More uncorrectable errors",
        "{count} disks have new uncorrectable errors",
        "Some of the disk's data is lost.",
        judged_by="smart",
    ),
    _disk(
        "reported_rose",
        "More read errors",
        "{count} disks reported read errors",
        "Some of the disk's data could not be read.",
        judged_by="smart",
    ),
    _disk(
        "pending_rose",
        "More pending sectors",
        "{count} disks have new pending sectors",
        "The sectors cannot be read now. An array reads them from its other disks.",
        judged_by="smart",
    ),
    _disk(
        "reallocated_rose",
        "More reallocated sectors",
        "{count} disks replaced sectors",
        "A disk that replaces more and more sectors will fail.",
        judged_by="smart",
    ),
    _disk(
        "worn",
        "SSD worn",
        "{count} SSDs are worn",
        "A worn SSD may stop accepting writes.",
        judged_by="smart",
    ),
    _disk(
        "wears_out_soon",
        "SSD wears out soon",
        "{count} SSDs will wear out soon",
        "A worn SSD may stop accepting writes.",
        judged_by="smart",
    ),
    _disk(
        "crc_rose",
        "More transfer errors",
        "{count} disks had new transfer errors",
        "The host repeats such transfers: the disk is slower, and may drop out.",
        judged_by="smart",
    ),
    _disk(
        "disk_hung",
        "Disk does not answer",
        "{count} disks do not answer",
        "Programs that use the disk wait for it.",
        judged_by="smart",
    ),
    _disk(
        "disk_unread",
        "Disk health not read",
        "The health of {count} disks cannot be read",
        "No alert will warn you if such a disk begins to fail.",
        judged_by="smart",
    ),
    _disk(
        "disk_hot",
        "Disk hot",
        "{count} disks are too hot",
        "Heat shortens the life of a disk.",
        judged_by="smart",
    ),
    _disk(
        "ssd_saturated",
        "SSD saturated",
        "{count} SSDs are overloaded",
        "All caches on such an SSD are slow.",
        resolve_seconds=JUDGED_TWICE_SECONDS,
        is_about_speed=True,
        judged_by="disk_load",
    ),
    _disk(
        "hdd_saturated",
        "HDD saturated",
        "{count} HDDs are overloaded",
        "All volumes on such an HDD are slow.",
        resolve_seconds=JUDGED_TWICE_SECONDS,
        is_about_speed=True,
        judged_by="disk_load",
        follows=("volume_slow",),
    ),
    _disk(
        "smart_stale",
        "Disks not read for a day",
        "The disks of {count} hosts have not been read for a day",
        "No alert will warn you if such a disk begins to fail.",
        about="host",
        message="Not all disks of the host were read for {lasted}: {why}.",
        correction="On the host: smartctl --scan; then smartctl -x for each disk that it lists.",
        # A host that is back after a day is read within the hour.
        hold_seconds=3600,
    ),
    _disk(
        "no_smartctl",
        "smartctl missing",
        "{count} hosts have no smartctl",
        "No alert will warn you if one of their disks begins to fail.",
        about="host",
        message="The host has no smartctl: no alert warns you when one of its disks fails.",
        correction="On the host: apt-get install smartmontools (or dnf install smartmontools)",
    ),
)
