"""Kinds of problems of arrays, of what LVM mirrors, and of volume groups."""

from __future__ import annotations

from functools import partial
from typing import Final

from storage.problems.problem_kind import ProblemKind

ARRAYS: Final = (
    "array_failed",
    "array_inactive",
    "array_degraded",
    "array_weakened",
    "array_recovering",
)
"""In all of these an array lacks a disk."""
_array: Final = partial(ProblemKind, about="array", way="disks")

ARRAY_KINDS: Final = (
    _array(
        "array_failed",
        "Array failed",
        "{count} arrays have failed",
        "The array lost more disks than it can: its data cannot be read or written.",
        family="array",
        is_data_at_risk=True,
        is_also_reported=True,
        is_of_one_lost_disk=True,
    ),
    _array(
        "array_inactive",
        "Array not started",
        "{count} arrays are not started",
        "Everything on such an array is away.",
        family="array",
        is_data_at_risk=True,
        is_also_reported=True,
        is_of_one_lost_disk=True,
    ),
    _array(
        "array_degraded",
        "Array degraded",
        "{count} arrays are degraded",
        "A second disk failure can destroy all data on this array.",
        family="array",
        is_data_at_risk=True,
        is_also_reported=True,
        is_of_one_lost_disk=True,
    ),
    _array(
        "array_weakened",
        "Array with less redundancy",
        "{count} arrays have lost a disk and can lose another",
        "One more disk can fail without loss; after that, the next one destroys data.",
        family="array",
        is_also_reported=True,
        is_of_one_lost_disk=True,
    ),
    _array(
        "array_recovering",
        "Array being rebuilt",
        "{count} arrays are being rebuilt",
        "Until the rebuild ends, another disk failure can destroy all data.",
        family="array",
        is_also_reported=True,
        is_of_one_lost_disk=True,
    ),
    _array(
        "array_read_only",
        "Array read-only",
        "{count} arrays take no writes",
        "Guests on such an array cannot write.",
        is_also_reported=True,
    ),
    _array(
        "array_unclear",
        "Array in an unclear state",
        "{count} arrays are in an unclear state",
        "The array may lack a disk, or take no I/O.",
        is_also_reported=True,
    ),
    _array(
        "array_mismatch",
        "Copies of an array differ",
        "The copies of {count} arrays differ",
        "One of the copies may be wrong.",
    ),
    _array(
        "guest_array",
        "Guest's array started",
        "{count} arrays of guests are started on their hosts",
        "Host and guest write to the same disk: the guest's data can be damaged.",
        is_also_reported=True,
        way="",
    ),
    _array(
        "lv_raid_failed",
        "Mirrored volume failed",
        "{count} volumes on LVM RAID have lost more disks than they survive",
        "Data cannot be read until the disks are back.",
        about="volume",
        is_data_at_risk=True,
    ),
    _array(
        "lv_raid_degraded",
        "Mirrored volume degraded",
        "{count} volumes that LVM mirrors are missing a disk",
        "Another disk failure can destroy their data.",
        about="volume",
        is_data_at_risk=True,
    ),
    _array(
        "lv_raid_unknown",
        "Mirrored volume in an unknown state",
        "{count} volumes that LVM mirrors are in an unknown state",
        "A copy of the data may be missing.",
        about="volume",
    ),
    _array(
        "lv_raid_refresh",
        "Old copy of a mirrored volume",
        "A copy of {count} volumes that LVM mirrors is old",
        "Another disk failure can destroy their data.",
        about="volume",
    ),
    _array(
        "lv_raid_mismatch",
        "Copies of a mirrored volume differ",
        "The copies of {count} volumes that LVM mirrors differ",
        "One of the copies may be wrong.",
        about="volume",
    ),
    _array(
        "lv_unhealthy",
        "Pool or write cache unhealthy",
        "{count} pools or write caches of LVM are unhealthy",
        "What lies on one may take no more writes.",
        about="volume",
    ),
    _array(
        "pv_missing",
        "Disk of a volume group missing",
        "{count} volume groups have a missing disk",
        "Data on that disk cannot be read, and the group cannot be changed.",
        about="group",
        is_data_at_risk=True,
        is_also_reported=True,
        is_of_one_lost_disk=True,
    ),
    _array(
        "pv_duplicate",
        "Disk seen twice",
        "Physical volumes of {count} groups are seen twice",
        "Nothing of such a group can be activated or changed.",
        about="group",
    ),
    _array(
        "vg_metadata_full",
        "Metadata of a volume group nearly full",
        "The metadata of {count} volume groups is nearly full",
        "Once it is full, no volume of the group can be changed or created.",
        about="group",
        is_also_reported=True,
        way="",
    ),
    _array(
        "lv_unknown_type",
        "Volume of an unknown type",
        "LVM does not know the type of {count} volumes",
        "LVM on these hosts can neither activate nor change them.",
        about="volume",
        way="",
    ),
)
