"""The table of every operation an operator has: how it is asked for, what its job consists of, and
whether a guest holds the volume meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Literal

from jobs.models import Job, Kind
from storage.models import Host, Volume
from tests.integration.doors import Origin
from tests.integration.machine import Machine
from tests.integration.person import MIB, Person

VOLUME_MIB, READ_MIB = 64, 48
"""bcache keeps a little of a volume for itself."""
LEFT_MIB = 128
"""Of the SSD while it is crowded: too little for the smallest cache that a page offers."""


@dataclass(slots=True)
class Stage:
    """Where it is played. `volume` is that of the last deed, `digest` of what its guest has written
    to it; `spare` an empty SSD, by name and serial number."""

    machine: Machine
    host: Host
    person: Person
    volume: Volume | None = None
    digest: str = ""
    spare: tuple[str, str] = ("", "")

    @property
    def held(self) -> Volume:
        assert self.volume is not None
        return self.volume

    @property
    def lv(self) -> str:
        """Its name on the host."""
        return self.held.placement_set.get().lv_name

    def read(self) -> str:
        """The digest of what is there now."""
        return self.machine.digest(self.lv, READ_MIB * MIB)


Scene = Callable[[Stage], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Deed:
    """`verbs` are the steps of its job. `is_online`: a guest holds the volume from before the
    preview until after the job. `data` of the volume afterwards: "kept", "new" (none yet), "off"
    (where no program reads it) or "gone". `scene` is what else is so meanwhile."""

    name: str
    kind: Kind
    ask: Callable[[Origin, Stage], Job]
    verbs: tuple[str, ...]
    is_online: bool = True
    data: Literal["kept", "new", "off", "gone"] = "kept"
    scene: Scene = lambda stage: nullcontext()


@contextmanager
def dirty(stage: Stage) -> Iterator[None]:
    with stage.machine.kept_dirty(stage.lv):
        stage.digest = stage.read()
        yield


@contextmanager
def crowded(stage: Stage) -> Iterator[None]:
    """The SSD has no room for a second cache beside the first."""
    stage.person.refresh(stage.host)
    assert stage.host.inventory is not None
    [free_bytes] = [pv.free_bytes for pv in stage.host.inventory.pvs if pv.name == "md0"]
    stage.machine.world.add_lv("filler", free_bytes - LEFT_MIB * MIB, "md0")
    stage.person.refresh(stage.host)
    try:
        yield
    finally:
        stage.machine.world.remove_lv("filler")
        stage.person.refresh(stage.host)


@contextmanager
def found(stage: Stage) -> Iterator[None]:
    """A volume that root made is known, not managed, and a guest holds it."""
    name = f"mail--{Volume.objects.count()}.old+x_y"
    stage.machine.world.add_lv(name, VOLUME_MIB * MIB)
    with stage.machine.world.guest("mail", name):
        stage.person.refresh(stage.host)
        stage.volume = Volume.objects.placed_on(stage.host).get(label=name, managed=False)
        stage.digest = stage.read()
        yield


@contextmanager
def another_ssd(stage: Stage) -> Iterator[None]:
    with stage.machine.spare_ssd() as stage.spare:
        stage.person.refresh(stage.host)
        yield


def create(layout: str, tier: str) -> Deed:
    verbs = ("volume.create", "bcache.format") if layout == "bcache" else ("volume.create",)
    return Deed(
        f"create a {layout} volume on {tier}",
        Kind.CREATE_VOLUME,
        lambda door, stage: door.create(stage.host, layout, tier, VOLUME_MIB),
        verbs,
        is_online=False,
        data="new",
    )


RETIRE = Deed(
    "retire",
    Kind.RETIRE_VOLUME,
    lambda door, stage: door.retire(stage.held),
    ("volume.retire",),
    False,
    "off",
)

LIVES: dict[str, tuple[Deed, ...]] = {
    "a plain volume": (
        create("plain", "hdd"),
        Deed(
            "extend",
            Kind.EXTEND_VOLUME,
            lambda door, stage: door.extend(stage.held, 2 * VOLUME_MIB),
            ("volume.extend", "guest.resize"),
        ),
        Deed(
            "attach an lvmcache",
            Kind.ADD_CACHE,
            lambda door, stage: door.attach(stage.held, 256, "writethrough"),
            ("pool.create", "cache.attach"),
        ),
        Deed(
            "set its migration threshold",
            Kind.SET_CACHE,
            lambda door, stage: door.set(stage.held, migration_threshold_sectors="0"),
            ("cache.set",),
        ),
        Deed(
            "set its mode",
            Kind.SET_CACHE,
            lambda door, stage: door.set(stage.held, mode="writeback"),
            ("cache.set",),
        ),
        Deed(
            "flush it",
            Kind.FLUSH_CACHE,
            lambda door, stage: door.flush(stage.held),
            ("cache.flush", "cache.set"),
            scene=dirty,
        ),
        Deed(
            "replace it by a bigger one",
            Kind.REPLACE_CACHE,
            lambda door, stage: door.replace(stage.held, 512),
            ("pool.create", "cache.detach", "cache.attach", "volume.clear"),
        ),
        Deed(
            "replace it by a smaller one, the old one first",
            Kind.REPLACE_CACHE,
            lambda door, stage: door.replace(stage.held, 256),
            ("cache.detach", "pool.create", "cache.attach", "volume.clear"),
            scene=crowded,
        ),
        Deed(
            "detach it",
            Kind.REMOVE_CACHE,
            lambda door, stage: door.detach(stage.held),
            ("cache.detach", "volume.clear"),
        ),
        Deed(
            "move to SSD",
            Kind.MOVE_VOLUME,
            lambda door, stage: door.move(stage.held, "ssd"),
            ("volume.move", "volume.clear"),
        ),
        Deed(
            "move to HDD",
            Kind.MOVE_VOLUME,
            lambda door, stage: door.move(stage.held, "hdd"),
            ("volume.move", "volume.clear"),
        ),
        RETIRE,
        Deed(
            "restore",
            Kind.RESTORE_VOLUME,
            lambda door, stage: door.restore(stage.held),
            ("volume.restore",),
            is_online=False,
        ),
        RETIRE,
        Deed(
            "destroy",
            Kind.DESTROY_VOLUME,
            lambda door, stage: door.destroy(stage.held),
            ("volume.destroy",),
            is_online=False,
            data="gone",
        ),
    ),
    "a bcache volume": (
        create("bcache", "hdd"),
        Deed(
            "attach a cache set",
            Kind.ADD_CACHE,
            lambda door, stage: door.attach(stage.held, 512, "writethrough"),
            ("cset.create", "bcache.attach"),
        ),
        Deed(
            "set cache_mode",
            Kind.SET_CACHE,
            lambda door, stage: door.set(stage.held, mode="writeback"),
            ("bcache.set",),
        ),
        Deed(
            "set sequential_cutoff",
            Kind.SET_CACHE,
            lambda door, stage: door.set(stage.held, sequential_cutoff_bytes=str(4 * MIB)),
            ("bcache.set",),
        ),
        Deed(
            "set writeback_percent",
            Kind.SET_CACHE,
            lambda door, stage: door.set(stage.held, writeback_percent="20"),
            ("bcache.set",),
        ),
        Deed(
            "replace the cache set",
            Kind.REPLACE_CACHE,
            lambda door, stage: door.replace(stage.held, 1024),
            ("cset.create", "bcache.detach", "bcache.attach", "cset.remove"),
        ),
        Deed(
            "detach the cache set",
            Kind.REMOVE_CACHE,
            lambda door, stage: door.detach(stage.held),
            ("bcache.detach", "cset.remove"),
        ),
    ),
    "the rest": (
        create("plain", "ssd"),
        Deed(
            "tag",
            Kind.TAG_VOLUME,
            lambda door, stage: door.tag(stage.held),
            ("volume.tag",),
            False,
            scene=found,
        ),
        Deed(
            "prepare an SSD",
            Kind.PREPARE_SSD,
            lambda door, stage: door.prepare(stage.host, *stage.spare),
            ("ssd.prepare",),
            is_online=False,
            scene=another_ssd,
        ),
    ),
}
