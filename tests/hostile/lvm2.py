"""LVM2 metadata as bytes, so that a guest may write what LVM's own commands would not."""

from __future__ import annotations

import itertools
import random
import struct
import zlib
from dataclasses import dataclass

from tests.hostile.scenarios import Group, Volume

SECTOR = 512
MIB = 1 << 20
EXTENT_SECTORS = 8192
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_MAGIC = b" LVM2 x[5A%r0N*>"
_SEED = 0xF597A6CF


def fresh_uuid(seed: str) -> str:
    drawn = random.Random(seed)
    text = "".join(drawn.choice(_ALPHABET) for _ in range(32))
    ends = (0, 6, 10, 14, 18, 22, 26, 32)
    return "-".join(text[a:b] for a, b in itertools.pairwise(ends))


@dataclass(frozen=True)
class Identity:
    """The uuids of a group, and of its volumes by their places."""

    vg_uuid: str
    lv_uuids: tuple[str, ...]


def identity(group: Group, like: Identity | None = None) -> Identity:
    """The uuids that a group gets; those of another as far as it took them over."""
    own = [
        each.uuid or fresh_uuid(f"lv {group.name} {each.name} {number}")
        for number, each in enumerate(group.volumes)
    ]
    if like is None:
        return Identity(fresh_uuid(f"vg {group.name}"), tuple(own))
    taken = [*like.lv_uuids, *own[len(like.lv_uuids) :]]
    return Identity(like.vg_uuid, tuple(taken[: len(own)]))


def header(group: Group, size_bytes: int, known: Identity | None = None) -> bytes:
    """The first MiB of a physical volume of `size_bytes` that is the whole of a group."""
    pv_uuid = fresh_uuid(f"pv {group.name} {group.partition}")
    text = _text(group, size_bytes, pv_uuid, known or identity(group))
    made = bytearray(MIB)
    made[SECTOR : 2 * SECTOR] = _label(pv_uuid, size_bytes)
    made[4096 : 4096 + SECTOR] = _area(len(text), _crc(text))
    made[4096 + SECTOR : 4096 + SECTOR + len(text)] = text
    return bytes(made)


def partition_table(size_bytes: int) -> bytes:
    """A partition table with one partition for LVM, from the first MiB to the end."""
    first, count = MIB // SECTOR, (size_bytes - MIB) // SECTOR
    entry = struct.pack("<B3sB3sII", 0, b"\0\x02\0", 0x8E, b"\xfe\xff\xff", first, count)
    return b"\0" * 446 + entry + b"\0" * 48 + b"\x55\xaa"


def _crc(data: bytes) -> int:
    return zlib.crc32(data, _SEED ^ 0xFFFFFFFF) ^ 0xFFFFFFFF


def _label(pv_uuid: str, size_bytes: int) -> bytes:
    areas = struct.pack("<4Q", MIB, 0, 0, 0) + struct.pack("<4Q", 4096, MIB - 4096, 0, 0)
    extension = struct.pack("<IIQQ", 2, 1, 0, 0)
    pv = pv_uuid.replace("-", "").encode() + struct.pack("<Q", size_bytes) + areas + extension
    checked = (struct.pack("<I8s", 32, b"LVM2 001") + pv).ljust(SECTOR - 20, b"\0")
    return b"LABELONE" + struct.pack("<QI", 1, _crc(checked)) + checked


def _area(length: int, checksum: int) -> bytes:
    located = struct.pack("<QQII", SECTOR, length, checksum, 0) + b"\0" * 24
    checked = (_MAGIC + struct.pack("<IQQ", 1, 4096, MIB - 4096) + located).ljust(SECTOR - 4, b"\0")
    return struct.pack("<I", _crc(checked)) + checked


def _text(group: Group, size_bytes: int, pv_uuid: str, known: Identity) -> bytes:
    extents = (size_bytes - MIB) // (EXTENT_SECTORS * SECTOR)
    pairs = zip(group.volumes, known.lv_uuids, strict=True)
    volumes = "".join(_volume(each, uuid, number) for number, (each, uuid) in enumerate(pairs))
    return (
        f'{_name(group.name)} {{\nid = "{known.vg_uuid}"\nseqno = 1\nformat = "lvm2"\n'
        f'status = ["RESIZEABLE", "READ", "WRITE"]\nflags = []\n{_tags(group.tags)}'
        f"extent_size = {EXTENT_SECTORS}\nmax_lv = 0\nmax_pv = 0\nmetadata_copies = 0\n"
        f'physical_volumes {{\npv0 {{\nid = "{pv_uuid}"\ndevice = "/dev/vda"\n'
        f'status = ["ALLOCATABLE"]\nflags = []\ndev_size = {size_bytes // SECTOR}\n'
        f"pe_start = {MIB // SECTOR}\npe_count = {extents}\n}}\n}}\n"
        f"logical_volumes {{\n{volumes}}}\n}}\n"
        'contents = "Text Format Volume Group"\nversion = 1\ndescription = ""\n'
        'creation_host = "guest"\ncreation_time = 1\n\0'
    ).encode()


def _volume(volume: Volume, uuid: str, number: int) -> str:
    shown = '"READ", "WRITE", "VISIBLE"'
    if volume.layout != "thin,pool":
        return _section(volume.name, uuid, shown, _striped(number), volume.tags)
    metadata, data = f"{volume.name}_tmeta", f"{volume.name}_tdata"
    pool = (
        f'type = "thin-pool"\nmetadata = "{metadata}"\npool = "{data}"\ntransaction_id = 0\n'
        'chunk_size = 128\ndiscards = "passdown"\nzero_new_blocks = 1\n'
    )
    return _section(volume.name, uuid, shown, pool, volume.tags) + "".join(
        _section(part, fresh_uuid(f"lv {part}"), '"READ", "WRITE"', _striped(number + place))
        for place, part in enumerate((metadata, data), start=1)
    )


def _section(name: str, uuid: str, status: str, segment: str, tags: tuple[str, ...] = ()) -> str:
    return (
        f'{_name(name)} {{\nid = "{uuid}"\nstatus = [{status}]\nflags = []\n'
        f'{_tags(tags)}creation_time = 1\ncreation_host = "guest"\nsegment_count = 1\n'
        f"segment1 {{\nstart_extent = 0\nextent_count = 1\n{segment}}}\n}}\n"
    )


def _striped(extent: int) -> str:
    return f'type = "striped"\nstripe_count = 1\nstripes = ["pv0", {extent}]\n'


def _name(name: str) -> str:
    """LVM's parser takes any text in quotation marks for the name of a section."""
    return name if name.replace("_", "").isalnum() else _quoted(name)


def _tags(tags: tuple[str, ...]) -> str:
    return "tags = [" + ", ".join(_quoted(each) for each in tags) + "]\n" if tags else ""


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
