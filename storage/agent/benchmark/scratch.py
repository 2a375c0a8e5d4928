"""The scratch volumes of a run: their names, their tags, and how large they are. Pure.

A volume is scratch only where its name and its tag say so of the same key. Nothing else is ever a
target, and nothing else is ever removed.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from ..calls.names import made
from ..commands.command import DATA_OFFSET_SECTORS, OURS
from .profiles import BCACHE, CACHED, JUNK, SSD

Args = Mapping[str, Any]
TAG_PREFIX = "tiercel.bench="
data_name_of = made("b")
_NAME = re.compile(r"b-([a-z2-7]{8,26})(-cache)?")
_NAMESPACE = uuid.UUID("5e7c1d0e-5a0d-4c1b-8f5e-3b7f4f0c9a52")
MIB = 1 << 20


def data_name(key: str) -> str:
    return f"b-{key}"


def cache_name(key: str) -> str:
    return f"b-{key}-cache"


def bench_tag(key: str) -> str:
    return f"{TAG_PREFIX}{key}"


def cset_uuid(key: str) -> str:
    """That of the cache set of a run, the same whenever it is asked for."""
    return str(uuid.uuid5(_NAMESPACE, key))


def key_of(lv: Mapping[str, Any]) -> str | None:
    """The run that a volume was made for; None for every volume that is no scratch volume."""
    match = _NAME.fullmatch(lv["name"])
    if match is None:
        return None
    keys = [tag for tag in lv["tags"] if tag.startswith(TAG_PREFIX)]
    return match.group(1) if OURS in lv["tags"] and keys == [bench_tag(match.group(1))] else None


def is_visible(lv: Mapping[str, Any]) -> bool:
    """A volume, or an idle cache pool: LVM hides a pool at work, and removes it with its volume."""
    return "public" in lv["role"] or lv["layout"][:2] == ["cache", "pool"]


def data_pvs(args: Args) -> Sequence[str]:
    return list(args.get("fast_pvs" if args["target"] == SSD else "slow_pvs", ()))


def cache_pvs(args: Args) -> Sequence[str]:
    return list(args.get("fast_pvs", ())) if args["target"] in CACHED else []


def junk_bytes(args: Args) -> int:
    """The region, behind the data, whose reads fill the cache with what the run never asks for."""
    return -(-args["cache_bytes"] * 5 // 4 // MIB) * MIB if args["state"] == JUNK else 0


def data_lv_bytes(args: Args) -> int:
    superblock = DATA_OFFSET_SECTORS * 512 if args["target"] == BCACHE else 0
    return int(args["data_bytes"]) + junk_bytes(args) + superblock
