"""LVM2 metadata as bytes, so that a guest may write what LVM's own commands would not."""

from __future__ import annotations

import itertools
import random
import struct
import zlib

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


def header(group: Group, size_bytes: int, *, vg_uuid: str = "") -> bytes:
    """The first MiB of a physical volume of `size_bytes` that is the whole of a group."""
    pv_uuid = fresh_uuid(f"pv {group.name} {group.partition}")
    text = _text(group, size_bytes, pv_uuid, vg_uuid or fresh_uuid(f"vg {group.name}"))
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


def _text(group: Group, size_bytes: int, pv_uuid: str, vg_uuid: str) -> bytes:
    extents = (size_bytes - MIB) // (EXTENT_SECTORS * SECTOR)
    volumes = "".join(_volume(group, each, number) for number, each in enumerate(group.volumes))
    return (
        f'{group.name} {{\nid = "{vg_uuid}"\nseqno = 1\nformat = "lvm2"\n'
        f'status = ["RESIZEABLE", "READ", "WRITE"]\nflags = []\n{_tags(group.tags)}'
        f"extent_size = {EXTENT_SECTORS}\nmax_lv = 0\nmax_pv = 0\nmetadata_copies = 0\n"
        f'physical_volumes {{\npv0 {{\nid = "{pv_uuid}"\ndevice = "/dev/vda"\n'
        f'status = ["ALLOCATABLE"]\nflags = []\ndev_size = {size_bytes // SECTOR}\n'
        f"pe_start = {MIB // SECTOR}\npe_count = {extents}\n}}\n}}\n"
        f"logical_volumes {{\n{volumes}}}\n}}\n"
        'contents = "Text Format Volume Group"\nversion = 1\ndescription = ""\n'
        'creation_host = "guest"\ncreation_time = 1\n\0'
    ).encode()


def _volume(group: Group, volume: Volume, number: int) -> str:
    uuid = volume.uuid or fresh_uuid(f"lv {group.name} {volume.name} {number}")
    return (
        f'{volume.name} {{\nid = "{uuid}"\nstatus = ["READ", "WRITE", "VISIBLE"]\nflags = []\n'
        f'{_tags(volume.tags)}creation_time = 1\ncreation_host = "guest"\nsegment_count = 1\n'
        "segment1 {\nstart_extent = 0\nextent_count = 1\n"
        f'type = "striped"\nstripe_count = 1\nstripes = ["pv0", {number}]\n}}\n}}\n'
    )


def _tags(tags: tuple[str, ...]) -> str:
    quoted = [each.replace("\\", "\\\\").replace('"', '\\"') for each in tags]
    return "tags = [" + ", ".join(f'"{each}"' for each in quoted) + "]\n" if tags else ""
