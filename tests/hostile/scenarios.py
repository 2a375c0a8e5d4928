"""What a guest writes to its disk to get at the host. Data only: both worlds play the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# What must appear nowhere on the host: no file, no command, no link has it.
MARK = "GUESTWASHERE"

Layout = Literal["plain", "bcache"]


@dataclass(frozen=True)
class Volume:
    """A logical volume in a guest's metadata. Without `uuid` it gets a fresh one."""

    name: str = "root"
    tags: tuple[str, ...] = ()
    uuid: str = ""
    layout: str = "linear"


@dataclass(frozen=True)
class Group:
    """LVM metadata that a guest wrote. `like` says whose uuids and names it took over: those of
    the host's own group, those of another guest's group, or none."""

    name: str = "guestvg"
    tags: tuple[str, ...] = ()
    volumes: tuple[Volume, ...] = (Volume(),)
    partition: bool = False
    like: Literal["", "host", "guest"] = ""


@dataclass(frozen=True)
class Superblock:
    """The superblock of an array's member, or of a bcache backing or cache device."""

    type: Literal["linux_raid_member", "bcache"]
    cache_device: bool = False
    partition: bool = False


@dataclass(frozen=True)
class Scenario:
    """`layout` is that of the volume the guest has."""

    name: str
    layout: Layout
    writes: Group | Superblock

    def __str__(self) -> str:
        return self.name


UUID = "AAAAAA-BBBB-CCCC-DDDD-EEEE-FFFF-GGGGGG"
_RULE = f"tiercel.volume=x\" RUN+=\"/bin/sh -c 'id>/root/{MARK}'"


def _tagged(name: str, *tags: str, partition: bool = False) -> Scenario:
    volume = Volume(tags=("tiercel", *tags))
    return Scenario(name, "bcache", Group(volumes=(volume,), partition=partition))


CRAFTED = (
    _tagged("a tag that ends a udev rule", _RULE),
    _tagged("the same in a partition", _RULE, partition=True),
    _tagged("a tag with a newline", f"tiercel.volume=x\n{MARK}"),
    _tagged("a tag with a newline and a row of a report", f'\n{{"lv_uuid":"{MARK}"}}'),
    _tagged("a tag with a backslash", f"tiercel.volume=\\{MARK}"),
    _tagged("a tag that ends in a backslash", f"{MARK}\\"),
    Scenario(
        "a volume's name for a shell", "bcache", Group(volumes=(Volume(f"$(touch /{MARK})"),))
    ),
    Scenario("a group's name for a shell", "bcache", Group(f"x;touch /{MARK}")),
    Scenario("a name of 200 characters", "bcache", Group(volumes=(Volume(MARK + "x" * 188),))),
    Scenario("a group's tag with a quotation mark", "bcache", Group(tags=(f'"{MARK}',))),
    Scenario(
        "two volumes of one uuid",
        "bcache",
        Group(volumes=(Volume(uuid=UUID), Volume("home", uuid=UUID))),
    ),
    Scenario("two volumes of one name", "bcache", Group(volumes=(Volume(MARK), Volume(MARK)))),
)
ITS_OWN = (
    Scenario("its own group", "bcache", Group()),
    Scenario("its own group in a partition", "bcache", Group(partition=True)),
    Scenario("a thin pool", "bcache", Group(volumes=(Volume("pool", layout="thin,pool"),))),
    Scenario("a group on a plain volume", "plain", Group()),
    Scenario("a group named as the host's", "bcache", Group("vg0")),
    Scenario("the host's own group, copied", "bcache", Group("vg0", like="host")),
    Scenario("a clone of another guest's group", "bcache", Group(like="guest")),
    Scenario("a member of an array", "plain", Superblock("linux_raid_member")),
    Scenario("a member of an array on bcache", "bcache", Superblock("linux_raid_member")),
    Scenario("a bcache backing device", "plain", Superblock("bcache")),
    Scenario("a bcache backing device on bcache", "bcache", Superblock("bcache")),
    Scenario("a bcache cache set", "plain", Superblock("bcache", cache_device=True)),
    Scenario("a bcache cache set on bcache", "bcache", Superblock("bcache", cache_device=True)),
)
EVERY = (*CRAFTED, *ITS_OWN)
