"""Sizes in LVM extents. Pure arithmetic, all in bytes."""

from __future__ import annotations

from collections.abc import Sequence

from storage.byte_sizes import MIB
from storage.inventory.facts import PhysicalVolume

POOL_METADATA_BASE_BYTES = 4 * MIB
POOL_METADATA_BYTES_PER_CHUNK = 44
POOL_METADATA_MIN_BYTES = 8 * MIB


def round_up(size_bytes: int, extent_bytes: int) -> int:
    return -(-size_bytes // extent_bytes) * extent_bytes


def pool_metadata_bytes(size_bytes: int, chunk_kib: int, extent_bytes: int) -> int:
    """What lvcreate takes for `_cmeta` by default: 4 MiB and 44 bytes a chunk, 8 MiB at least
    (lvm2 lib/metadata/cache_manip.c, update_cache_pool_params)."""
    chunks = -(-size_bytes // (chunk_kib * 1024))
    wanted = POOL_METADATA_BASE_BYTES + POOL_METADATA_BYTES_PER_CHUNK * chunks
    return round_up(max(POOL_METADATA_MIN_BYTES, wanted), extent_bytes)


def pool_bytes(size_bytes: int, chunk_kib: int, extent_bytes: int, spare_bytes: int) -> int:
    """Room a cache pool needs: data, metadata, and the growth of the group's one spare metadata
    volume (`lvol0_pmspare`, now `spare_bytes`), which is as big as the largest metadata."""
    metadata = pool_metadata_bytes(size_bytes, chunk_kib, extent_bytes)
    return round_up(size_bytes, extent_bytes) + metadata + max(0, metadata - spare_bytes)


def keep(pvs: Sequence[PhysicalVolume], needed_bytes: int, names: Sequence[str]) -> tuple[str, ...]:
    """`names`, the physical volumes that were chosen before, where each of them is still fit to
    allocate from and together they suffice; else none."""
    fit = {pv.name: pv.free_bytes for pv in pvs if pv.free_bytes and pv.healthy and pv.is_usable}
    suffice = fit.keys() >= set(names) and sum(fit[name] for name in names) >= needed_bytes
    return tuple(names) if suffice else ()


def choose(pvs: Sequence[PhysicalVolume], needed_bytes: int) -> tuple[str, ...]:
    """Names of the physical volumes to allocate from: the emptiest one where it suffices (a
    volume on one spindle disturbs one spindle), else all of them, else none."""
    usable = sorted(
        (pv for pv in pvs if pv.is_usable),
        key=lambda pv: (-pv.free_bytes, pv.name),
    )
    if usable and usable[0].free_bytes >= needed_bytes:
        return (usable[0].name,)
    if sum(pv.free_bytes for pv in usable) >= needed_bytes:
        return tuple(pv.name for pv in usable if pv.free_bytes)
    return ()
