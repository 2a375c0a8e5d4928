"""The matrix of a benchmark: each target with each profile, data size, cache size and state, and
the runs that this makes, in the order in which they are done. Pure.

A cell names no volume: its runs make scratch volumes of their own, and the agent removes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Any, Final, Self, TypeVar

import msgspec

from storage.agent.benchmark.profiles import own_options
from storage.benchmarks.heat_profile import HeatFigures, fio_options, is_sound
from storage.byte_sizes import GIB, KIB, MIB
from storage.formatting import seconds as seconds_text
from storage.formatting import size
from storage.host_data import prepare
from storage.planner.draft import Refused

Shape = TypeVar("Shape")


class TargetKind(StrEnum):
    """What a profile runs on."""

    HDD = "hdd"
    SSD = "ssd"
    LVMCACHE = "lvmcache"
    BCACHE = "bcache"


class CacheState(StrEnum):
    """What is made of the cache before a run, and checked."""

    NEW = "new"
    WARMED = "warmed"
    JUNK = "junk"


class Profile(StrEnum):
    """What fio does."""

    ZIPF_READ = "zipf_read"
    MIXED = "mixed"
    SEQUENTIAL_READ = "sequential_read"
    SEQUENTIAL_WRITE = "sequential_write"
    SYNC_WRITE = "sync_write"
    OWN = "own"
    HEAT = "heat"
    FILE_TREE = "file_tree"
    SQL = "sql"


CACHED: Final = frozenset({TargetKind.LVMCACHE, TargetKind.BCACHE})
MODES: Final = ("writethrough", "writeback", "writearound")
MODES_OF: Final = {
    TargetKind.LVMCACHE: ("writethrough", "writeback"),
    TargetKind.BCACHE: MODES,
}
LEAST_SECONDS: Final = 10
MOST_SECONDS: Final = 24 * 3600
LEAST_BYTES: Final = 64 * MIB
MOST_BYTES: Final = 1 << 50
MOST_RUNS: Final = 500
MOST_REPEATS: Final = 30
MOST_JOBS: Final = 16
MOST_DEPTH: Final = 256
MOST_BLOCK: Final = 4 * MIB
CHUNK_STEP_KIB: Final = 32
MOST_CHUNK_KIB: Final = 1024 * KIB
LEAST_BUCKET_KIB: Final = 4
MOST_BUCKET_KIB: Final = 16 * KIB
LEAST_BUCKETS: Final = 512
"""A bcache cache needs more of them."""
USUAL_CHUNK_KIB: Final = {TargetKind.LVMCACHE: 64, TargetKind.BCACHE: 512}
MOST_CHUNKS: Final = 1_000_000
MOST_SEED: Final = 2**31 - 1


class BadSpec(ValueError):
    """JSON that is no matrix, and no cell."""


@dataclass(frozen=True, slots=True)
class TargetChoice:
    """A target with its settings. `mode`, `chunk_kib` (0: the usual one) and, of bcache alone,
    `sequential_cutoff_kib` are those of a cache."""

    target: TargetKind
    mode: str = ""
    chunk_kib: int = 0
    sequential_cutoff_kib: int = 0

    @property
    def has_cache(self) -> bool:
        return self.target in CACHED


@dataclass(frozen=True, slots=True)
class ProfileChoice:
    """A profile with the number of its streams (`jobs`), the requests that each keeps in flight,
    and their size. `options` are those of a profile of one's own, as pairs of name and value;
    `heat` is what a volume's was when the benchmark was ordered."""

    profile: Profile
    jobs: int = 1
    iodepth: int = 16
    block_bytes: int = 4 * KIB
    options: tuple[tuple[str, str], ...] = ()
    heat: HeatFigures | None = None

    def options_on(self, data_bytes: int) -> tuple[tuple[str, str], ...]:
        """fio's, on so many bytes."""
        return self.options if self.heat is None else fio_options(self.heat, data_bytes)


@dataclass(frozen=True, slots=True)
class Cell:
    """One target with one profile, data size and state: what each of its runs does. `heat` is the
    digest of the figures that are replayed."""

    target: TargetKind
    profile: Profile
    data_bytes: int
    seconds: int
    state: CacheState = CacheState.NEW
    warm_seconds: int = 0
    cache_bytes: int = 0
    mode: str = ""
    chunk_kib: int = 0
    sequential_cutoff_kib: int = 0
    jobs: int = 1
    iodepth: int = 16
    block_bytes: int = 4 * KIB
    options: tuple[tuple[str, str], ...] = ()
    heat: str = ""

    @property
    def load(self) -> str:
        """The profile with all that shapes it: runs of one load may be compared. The zones of a
        replay go by the size of the data, so its figures count and not its options."""
        shape = f"{self.jobs} x {self.iodepth} x {size(self.block_bytes)}"
        options = "" if self.heat else " ".join(f"{name}={value}" for name, value in self.options)
        return " ".join(filter(None, (self.profile, shape, self.heat, options)))

    @property
    def has_cache(self) -> bool:
        return self.target in CACHED

    @property
    def has_cutoff(self) -> bool:
        """Whether what looks sequential may pass the cache by."""
        return self.target == TargetKind.BCACHE

    @property
    def fast_bytes(self) -> int:
        """What its scratch volumes take of the SSD, without what LVM keeps about them."""
        return self.data_bytes if self.target == TargetKind.SSD else self.cache_bytes

    @property
    def slow_bytes(self) -> int:
        """The same of the slow disks."""
        return 0 if self.target == TargetKind.SSD else self.data_bytes

    def to_json(self) -> dict[str, Any]:
        json: dict[str, Any] = msgspec.to_builtins(self)
        return json

    @classmethod
    def from_json(cls, data: object) -> Self:
        """The inverse of `to_json`; raises `BadSpec`."""
        return _read(data, cls)


@dataclass(frozen=True, slots=True)
class Spec:
    """What a person ordered. A run is each target with each profile, data size and, of a cache,
    cache size and state, `repeats` times. `slow_pvs` and `fast_pvs` name physical volumes of the
    group that alone are used; none: all of their kind. Repeat n draws its blocks by `seed` + n, so
    that repeats differ and the targets of one repeat read the same blocks."""

    vg_uuid: str
    vg_name: str
    targets: tuple[TargetChoice, ...]
    profiles: tuple[ProfileChoice, ...]
    data_bytes: tuple[int, ...]
    seconds: int
    cache_bytes: tuple[int, ...] = ()
    states: tuple[CacheState, ...] = (CacheState.NEW,)
    warm_seconds: int = 0
    repeats: int = 1
    seed: int = 1
    slow_pvs: tuple[str, ...] = ()
    fast_pvs: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        json: dict[str, Any] = msgspec.to_builtins(self)
        return json

    @classmethod
    def from_json(cls, data: object) -> Self:
        """The inverse of `to_json`; raises `BadSpec`."""
        return _read(data, cls)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Each once, in the order of the choices."""
        every = (
            cell
            for target, data in product(self.targets, self.data_bytes)
            for cell in self._cells_of(target, data)
        )
        return tuple(dict.fromkeys(every))

    def _cells_of(self, target: TargetChoice, data_bytes: int) -> Iterator[Cell]:
        sizes = self.cache_bytes if target.has_cache else (0,)
        states = self.states if target.has_cache else (CacheState.NEW,)
        for cache_bytes, state, profile in product(sizes, states, self.profiles):
            yield Cell(
                target.target,
                profile.profile,
                data_bytes,
                self.seconds,
                state=state,
                warm_seconds=self.warm_seconds if state == CacheState.WARMED else 0,
                cache_bytes=cache_bytes,
                mode=target.mode,
                chunk_kib=target.chunk_kib,
                sequential_cutoff_kib=target.sequential_cutoff_kib,
                jobs=profile.jobs,
                iodepth=profile.iodepth,
                block_bytes=profile.block_bytes,
                options=profile.options_on(data_bytes),
                heat="" if profile.heat is None else profile.heat.digest,
            )


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """`repeat` counts from 0."""

    cell: Cell
    repeat: int


def runs_of(spec: Spec) -> tuple[PlannedRun, ...]:
    """All runs in their order. The cells of a repeat follow each other, every second time
    backwards (A B B A): what changes on the host while a benchmark lasts meets all cells alike."""
    cells = spec.cells
    return tuple(
        PlannedRun(cell, repeat)
        for repeat in range(spec.repeats)
        for cell in (cells if repeat % 2 == 0 else reversed(cells))
    )


def demand_sound(spec: Spec) -> None:
    """Raises `Refused` for a matrix that cannot be run, with what to change."""
    _demand_choices(spec)
    for target in spec.targets:
        _demand_target(target)
    for profile in spec.profiles:
        _demand_profile(profile)
    _demand_sizes(spec)
    _demand_times(spec)
    runs = len(spec.cells) * spec.repeats
    if runs > MOST_RUNS:
        raise _bad(
            f"This makes {runs} runs.",
            f"At most {MOST_RUNS} fit into one benchmark: choose fewer targets, sizes or repeats.",
        )


def _demand_choices(spec: Spec) -> None:
    for name, chosen in (
        ("target", spec.targets),
        ("profile", spec.profiles),
        ("data size", spec.data_bytes),
        ("state", spec.states),
    ):
        if not chosen:
            raise _bad(f"There is no {name}.", f"Choose at least one {name}.")
    if any(target.has_cache for target in spec.targets) and not spec.cache_bytes:
        raise _bad("A cache has no size.", "Choose at least one cache size.")


def _demand_target(target: TargetChoice) -> None:
    kind = target.target
    if not target.has_cache:
        if target != TargetChoice(kind):
            raise _bad(f"{kind} has no cache.", "Leave out the settings of a cache there.")
        return
    if target.mode not in MODES_OF[kind]:
        raise _bad(
            f"{kind} has no mode {target.mode or '(none)'}.",
            f"Choose one of {', '.join(MODES_OF[kind])}.",
        )
    if target.chunk_kib:
        _demand_chunk(kind, target.chunk_kib)
    if target.sequential_cutoff_kib and kind != TargetKind.BCACHE:
        raise _bad("Only bcache has a sequential cutoff.", "Leave it out for other targets.")
    if not 0 <= target.sequential_cutoff_kib <= GIB // KIB:
        raise _bad("The sequential cutoff is too large.", "Choose at most 1 GiB; 0 means none.")


def _demand_chunk(kind: TargetKind, chunk: int) -> None:
    if kind == TargetKind.BCACHE:
        if not LEAST_BUCKET_KIB <= chunk <= MOST_BUCKET_KIB or chunk & (chunk - 1):
            raise _bad(
                f"bcache has no buckets of {chunk} KiB.", "Choose a power of two, 4 KiB to 16 MiB."
            )
    elif not CHUNK_STEP_KIB <= chunk <= MOST_CHUNK_KIB or chunk % CHUNK_STEP_KIB:
        raise _bad(f"{chunk} KiB is no chunk size.", "Choose a multiple of 32 KiB up to 1 GiB.")


def _demand_profile(profile: ProfileChoice) -> None:
    block = profile.block_bytes
    if not 1 <= profile.jobs <= MOST_JOBS:
        raise _bad(f"{profile.jobs} streams are not possible.", f"Choose 1 to {MOST_JOBS}.")
    if not 1 <= profile.iodepth <= MOST_DEPTH:
        raise _bad(f"{profile.iodepth} requests in flight are not possible.", "Choose 1 to 256.")
    if not 512 <= block <= MOST_BLOCK or block % 512:
        raise _bad(f"{block} bytes are no block size.", "Choose a multiple of 512 up to 4 MiB.")
    if bool(profile.options) is not (profile.profile == Profile.OWN):
        raise _bad(
            "Options belong to a profile of your own, and that has some.",
            "Choose that profile with its options, or another one without any.",
        )
    if (profile.heat is not None) is not (profile.profile == Profile.HEAT):
        raise _bad(
            "The figures of a volume's heat belong to the profile heat, and that has some.",
            "Choose that profile with a volume's heat, or another one without it.",
        )
    if profile.heat is not None and not is_sound(profile.heat):
        raise _bad("These are no figures of a volume's heat.", "Choose the volume anew.")
    if profile.options:
        try:
            own_options(profile.options)
        except ValueError as error:
            raise _bad(f"The job must be {error}.", "Correct its options.") from None


def _demand_sizes(spec: Spec) -> None:
    for what, sizes in (("data", spec.data_bytes), ("the cache", spec.cache_bytes)):
        for each in sizes:
            if not LEAST_BYTES <= each <= MOST_BYTES:
                raise _bad(
                    f"{size(max(0, each))} is no size for {what}.",
                    f"Choose {size(LEAST_BYTES)} to {size(MOST_BYTES)}.",
                )
            if each % MIB:
                raise _bad(f"{each} bytes are no whole MiB.", "Choose whole MiB.")
    for target, cache_bytes in product(spec.targets, spec.cache_bytes):
        if target.has_cache:
            _demand_chunks(target, cache_bytes)


def _demand_chunks(target: TargetChoice, cache_bytes: int) -> None:
    chunk_kib = target.chunk_kib or USUAL_CHUNK_KIB[target.target]
    chunks, rest = divmod(cache_bytes, chunk_kib * KIB)
    if target.target == TargetKind.BCACHE and chunks <= LEAST_BUCKETS:
        raise _bad(
            f"bcache needs more than {LEAST_BUCKETS} buckets; {size(cache_bytes)} are {chunks}.",
            "Choose a larger cache, or smaller buckets.",
        )
    if target.target == TargetKind.LVMCACHE and (rest or chunks > MOST_CHUNKS):
        raise _bad(
            f"Chunks of {chunk_kib} KiB do not fit a cache of {size(cache_bytes)}.",
            f"They must fill it wholly, and be at most {MOST_CHUNKS}.",
        )


def _demand_times(spec: Spec) -> None:
    if not LEAST_SECONDS <= spec.seconds <= MOST_SECONDS:
        raise _bad(
            f"A run cannot take {spec.seconds} s.",
            f"Choose {seconds_text(LEAST_SECONDS)} to {seconds_text(MOST_SECONDS)}.",
        )
    is_warmed = CacheState.WARMED in spec.states
    if is_warmed and not LEAST_SECONDS <= spec.warm_seconds <= MOST_SECONDS:
        raise _bad(
            "A cache is to be warmed, and for how long is missing.",
            f"Choose {seconds_text(LEAST_SECONDS)} to {seconds_text(MOST_SECONDS)}.",
        )
    if not 1 <= spec.repeats <= MOST_REPEATS:
        raise _bad(f"{spec.repeats} repeats are not possible.", f"Choose 1 to {MOST_REPEATS}.")
    if not 1 <= spec.seed <= MOST_SEED - MOST_REPEATS:
        raise _bad("The seed is too large, or none.", "Choose one from 1 to 2,000,000,000.")


def _bad(message: str, correction: str) -> Refused:
    return Refused("invalid", message, correction)


def _read(data: object, shape: type[Shape]) -> Shape:
    prepare(shape)
    try:
        return msgspec.convert(data, shape)
    except msgspec.ValidationError as error:
        raise BadSpec(str(error)) from None


def label_of(cell: Cell) -> str:
    """The cell in a few words, as "lvmcache writeback 2 GiB, full of junk, zipf_read, 8 GiB"."""
    states = {CacheState.NEW: "new", CacheState.WARMED: "warmed", CacheState.JUNK: "full of junk"}
    if not cell.has_cache:
        return f"{cell.target}, {cell.profile}, {size(cell.data_bytes)}"
    chunk = f" chunks of {size(cell.chunk_kib * KIB)}" if cell.chunk_kib else ""
    cutoff = ""
    if cell.has_cutoff:
        bytes_ = cell.sequential_cutoff_kib * KIB
        cutoff = f" cutoff {size(bytes_)}" if bytes_ else " no cutoff"
    cache = f"{cell.target} {cell.mode} {size(cell.cache_bytes)}{chunk}{cutoff}"
    return f"{cache}, {states[cell.state]}, {cell.profile}, {size(cell.data_bytes)}"
