"""A run of a benchmark: fio on scratch volumes that the agent makes and removes, all in one step.

Pure. The wish names no volume, and so does the step: the agent derives the names of the scratch
volumes from the run's key. The agent checks what the inventory does not contain (the quota that
root allows, fio).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

from storage.agent.commands.command import DATA_OFFSET_SECTORS
from storage.byte_sizes import MIB, SECTOR_BYTES
from storage.formatting import size
from storage.inventory.facts import HostFacts, PhysicalVolume, VolumeGroup
from storage.naming import KEY_PATTERN
from storage.planner.draft import PlannedStep, Refused, demand_group_change, group_of
from storage.planner.lvm_sizes import pool_bytes, round_up
from storage.planner.wish import DEFAULT_CHUNK_KIB, BadWish

RUN: Final = "bench.run"
SSD, HDD, LVMCACHE, BCACHE = "ssd", "hdd", "lvmcache", "bcache"
JUNK: Final = "junk"
BCACHE_DATA_BYTES: Final = DATA_OFFSET_SECTORS * SECTOR_BYTES
JUNK_FACTOR: Final = 5 / 4
"""A region of so many times the cache fills it with junk; it lies behind the data."""
ARGS: Final = {
    "target": str,
    "profile": str,
    "state": str,
    "mode": str,
    "data_bytes": int,
    "cache_bytes": int,
    "chunk_kib": int,
    "sequential_cutoff_kib": int,
    "seconds": int,
    "warm_seconds": int,
    "seed": int,
    "jobs": int,
    "iodepth": int,
    "block_bytes": int,
    "options": list,
}
"""What a run has, by its type. Whether it is possible, the agent says."""
NEEDED: Final = frozenset({"target", "data_bytes"})


@dataclass(frozen=True, slots=True)
class BenchmarkWish:
    """That the run `key` has been done in a volume group, on scratch volumes on `slow_pvs` and
    `fast_pvs` (none: on all of their tier). `args` are those of `ARGS` that it has."""

    vg_uuid: str
    vg_name: str
    key: str
    args: dict[str, Any]
    slow_pvs: tuple[str, ...] = field(default=())
    fast_pvs: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        json = asdict(self)
        return json | {"slow_pvs": list(self.slow_pvs), "fast_pvs": list(self.fast_pvs)}

    @classmethod
    def from_json(cls, data: object) -> BenchmarkWish:
        """The inverse of `to_json`; raises `BadWish` on anything else."""
        if not isinstance(data, dict) or set(data) != {each.name for each in fields(cls)}:
            raise BadWish("A run names a volume group, its key, and what it does.")
        args, pvs = data["args"], (data["slow_pvs"], data["fast_pvs"])
        texts = [data["vg_uuid"], data["vg_name"], data["key"]]
        if not all(isinstance(each, list) for each in pvs) or not isinstance(args, dict):
            raise BadWish("A run has lists of disks, and arguments.")
        if not all(isinstance(each, str) for each in (*texts, *pvs[0], *pvs[1])):
            raise BadWish("What a run names is text.")
        if KEY_PATTERN.fullmatch(data["key"]) is None:
            raise BadWish("The key of a run is made by Tiercel.")
        if not NEEDED <= set(args) <= set(ARGS) or any(
            type(value) is not ARGS[name] for name, value in args.items()
        ):
            raise BadWish("A run has an argument that none has, or of another type.")
        return cls(**data | {"slow_pvs": tuple(pvs[0]), "fast_pvs": tuple(pvs[1])})

    @property
    def target(self) -> str:
        return str(self.args["target"])


@dataclass(frozen=True, slots=True)
class ScratchSpace:
    """What a run takes of the slow and the fast disks, in bytes."""

    slow: int
    fast: int


def scratch_space(vg: VolumeGroup, args: dict[str, Any]) -> ScratchSpace:
    """With what LVM and bcache keep about it."""
    extent, target = vg.extent_bytes, args["target"]
    cache_bytes, chunk_kib = args.get("cache_bytes", 0), args.get("chunk_kib", DEFAULT_CHUNK_KIB)
    data = round_up(_volume_bytes(args), extent)
    if target == SSD:
        return ScratchSpace(0, data)
    if target == LVMCACHE:
        return ScratchSpace(data, pool_bytes(cache_bytes, chunk_kib, extent, 0))
    return ScratchSpace(data, round_up(cache_bytes, extent))


def quota_bytes(args: dict[str, Any]) -> int:
    """What counts of a run for the quota that root allows."""
    return _volume_bytes(args) + int(args.get("cache_bytes", 0))


def _volume_bytes(args: dict[str, Any]) -> int:
    """Of the volume for the data, with the region of junk behind them and bcache's superblock."""
    junk = args.get("cache_bytes", 0) * JUNK_FACTOR if args.get("state") == JUNK else 0
    superblock = BCACHE_DATA_BYTES if args["target"] == BCACHE else 0
    return int(args["data_bytes"]) + round_up(int(junk), MIB) + superblock


def run_benchmark(facts: HostFacts, wanted: BenchmarkWish) -> tuple[PlannedStep, ...]:
    """The step that is left, `()` once there is a result and nothing else of the run; raises
    `Refused`."""
    if facts.benchmark(wanted.key) is not None and not facts.scratch_of(wanted.key):
        return ()
    vg = group_of(facts, wanted.vg_uuid, wanted.vg_name)
    demand_group_change(facts, vg)
    args: dict[str, Any] = {"vg": vg.name, "key": wanted.key, **wanted.args}
    space = scratch_space(vg, wanted.args)
    is_there = bool(facts.scratch_of(wanted.key))
    for tier, names, needed in (
        ("slow", wanted.slow_pvs, space.slow),
        ("fast", wanted.fast_pvs, space.fast),
    ):
        if needed:
            pvs = _usable(facts, vg, tier, names)
            if not is_there:
                _demand_room(vg, tier, pvs, needed)
            args[f"{tier}_pvs"] = [pv.name for pv in pvs]
    title = f"Run fio on scratch volumes in {vg.name} ({wanted.target}), and remove them"
    return (PlannedStep(RUN, args, {"vg_uuid": vg.uuid}, title, polled=True, holds_vg=False),)


TIERS: Final = {"slow": "HDD", "fast": "SSD"}


def _usable(
    facts: HostFacts, vg: VolumeGroup, tier: str, names: tuple[str, ...]
) -> list[PhysicalVolume]:
    there = [pv for pv in facts.pvs_of(vg.uuid, tier) if pv.is_usable and pv.healthy]
    chosen = [pv for pv in there if not names or pv.name in names]
    if not chosen or (names and len(chosen) < len(set(names))):
        which = f" called {', '.join(names)}" if names else ""
        raise Refused(
            "not_found",
            f"{vg.name} has no {TIERS[tier]}{which} that a benchmark could use.",
            "Choose targets and disks that the group has.",
        )
    return sorted(chosen, key=lambda pv: pv.name)


def _demand_room(vg: VolumeGroup, tier: str, pvs: list[PhysicalVolume], needed: int) -> None:
    free = sum(pv.free_bytes for pv in pvs)
    if free <= needed:
        raise Refused(
            "no_space",
            f"The run needs {size(needed)} of {TIERS[tier]} in {vg.name}, and {size(free)} are "
            "free.",
            "Choose a smaller size, or free space first.",
        )
