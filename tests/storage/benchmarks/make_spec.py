"""A matrix, and a cell of it, with sensible defaults."""

from __future__ import annotations

from typing import Any

from storage.benchmarks.matrix import (
    CacheState,
    Cell,
    Profile,
    ProfileChoice,
    Spec,
    TargetChoice,
    TargetKind,
)
from storage.byte_sizes import GIB
from tests import make

LVMCACHE = TargetChoice(TargetKind.LVMCACHE, "writethrough")
ZIPF = ProfileChoice(Profile.ZIPF_READ)


def spec(**changes: Any) -> Spec:
    """lvmcache of 1 GiB over 4 GiB, read for a minute."""
    fields: dict[str, Any] = {
        "vg_uuid": make.VG_UUID,
        "vg_name": "vg0",
        "targets": (LVMCACHE,),
        "profiles": (ZIPF,),
        "data_bytes": (4 * GIB,),
        "seconds": 60,
        "cache_bytes": (GIB,),
    }
    return Spec(**fields | changes)


def cell(**changes: Any) -> Cell:
    """The only cell of `spec()`."""
    fields: dict[str, Any] = {
        "target": TargetKind.LVMCACHE,
        "profile": Profile.ZIPF_READ,
        "data_bytes": 4 * GIB,
        "seconds": 60,
        "state": CacheState.NEW,
        "cache_bytes": GIB,
        "mode": "writethrough",
    }
    return Cell(**fields | changes)
