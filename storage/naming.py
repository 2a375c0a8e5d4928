"""Names that Tiercel makes. What a person types is only ever a label; these reach command lines.

The agent admits `^[vcs]-[a-z2-7]{8,26}$` for what it creates: base32 without padding, no digit
that looks like a letter, no `snapshot`/`pvmove` prefix and no `_cdata`-like infix that LVM keeps.
"""

from __future__ import annotations

import base64
import re
import secrets
import unicodedata
from typing import NamedTuple

from storage.language import gettext

AGENT_PATH = "/usr/lib/tiercel/agent.pyz"
"""The agent on a host."""
KEY_BYTES = 10
KEY_PATTERN = re.compile(r"[a-z2-7]{8,26}")
MANAGED_TAG = "tiercel"
VOLUME_TAG_PREFIX = "tiercel.volume="
ZEROING_TAG = "tiercel.zeroing"
ZEROED_TAG = "tiercel.zeroed"
"""On a cache pool whose data part was zeroed before a guest got it."""
FORMAT_TAG = "tiercel.format=bcache"
GROWN_TAG = "tiercel.grown"
"""On a volume that is larger than its guest knows, mostly with `=` and the size it knows."""
MOVING_TAG = "tiercel.moving"
"""On a volume that Tiercel is moving: any other pvmove was started by hand."""
PVMOVE_PREFIX = "pvmove"
"""LVM keeps it for the volumes of a pvmove at work."""
LEFT_TAG_PREFIX = "tiercel.left="
"""On a volume: extents that it left behind, which are still to be cleared."""
WIPING_TAG = "tiercel.wiping"
MADE_TAG_PREFIX = "tiercel.made="
"""What the agent's own lvcreate gives to a pool, a cache device and room, and no other verb to
anything: a name alone proves nothing."""


BENCHMARK_TAG_PREFIX = "tiercel.bench="
"""On a scratch volume of a benchmark, with the key of its run."""


BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols that show nothing."""


LAYOUT = frozenset("\n\t")
"""What else a text of several lines may have."""
JOINERS = frozenset("\u200c\u200d")
"""Format characters that words of several scripts need, and emoji."""
UNSHOWN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's categories of controls, of what only changes the text around it (its direction, as
U+202E), of half characters, and of ends of lines."""


class NameFault(NamedTuple):
    """Why a text is no name: a stable code, and what to do."""

    code: str
    message: str


def text_fault(text: str) -> NameFault | None:
    """Why a text that a person types into one line, or a guest gives itself, does not show as it
    stands; in a terminal and in a file it would do something else. None where it does."""
    message = gettext("Enter one line of text without control characters ({code} is one).")
    return _unshown(text, JOINERS, message)


def lines_fault(text: str) -> NameFault | None:
    """The same of a text of several lines."""
    message = gettext("Enter text without control characters ({code} is one).")
    return _unshown(text, JOINERS | LAYOUT, message)


def _unshown(text: str, allowed: frozenset[str], message: str) -> NameFault | None:
    for each in text:
        if unicodedata.category(each) in UNSHOWN and each not in allowed:
            return NameFault("control_character", message.format(code=f"U+{ord(each):04X}"))
    return None


def name_fault(text: str) -> NameFault | None:
    """The same of a name, which shows a letter, a digit or a sign too: no page could link to what
    bears another one."""
    is_visible = any(
        unicodedata.category(each)[0] in "LNPS" and each not in BLANK_LETTERS for each in text
    )
    if (fault := text_fault(text)) is not None or is_visible:
        return fault
    return NameFault("invisible", gettext("Enter a name with visible characters."))


def new_key() -> str:
    """A random public identifier of 16 base32 letters (80 bits)."""
    return base64.b32encode(secrets.token_bytes(KEY_BYTES)).decode().lower()


def volume_name(key: str) -> str:
    """The LV name of a volume we create."""
    return f"v-{key}"


def pool_name(key: str) -> str:
    """The LV name of a cache pool we create."""
    return f"c-{key}"


def cache_device_name(key: str) -> str:
    """The LV name of a bcache cache device we create."""
    return f"s-{key}"


def retired_name(key: str) -> str:
    """The LV name of a retired volume."""
    return f"del-{key}"


def room_name(key: str) -> str:
    """The LV name of the room a volume is about to grow into."""
    return f"x-{key}"


def held_name(key: str) -> str:
    """The LV name of what a volume left behind, while that is cleared."""
    return f"w-{key}"


def is_room_name(name: str) -> bool:
    """True for what `room_name` makes."""
    return name.startswith("x-") and KEY_PATTERN.fullmatch(name[2:]) is not None


def is_held_name(name: str) -> bool:
    """True for what `held_name` makes."""
    return name.startswith("w-") and KEY_PATTERN.fullmatch(name[2:]) is not None


def is_pool_name(name: str) -> bool:
    """True for what `pool_name` makes."""
    return name.startswith("c-") and KEY_PATTERN.fullmatch(name[2:]) is not None


def is_cache_device_name(name: str) -> bool:
    """True for what `cache_device_name` makes."""
    return name.startswith("s-") and KEY_PATTERN.fullmatch(name[2:]) is not None


def is_made_beside(name: str, tags: tuple[str, ...]) -> bool:
    """True for a cache pool, a cache device, room, or what is being cleared, that the agent made,
    by its name and mark."""
    kinds = {
        "pool": is_pool_name,
        "cset": is_cache_device_name,
        "room": is_room_name,
        "left": is_held_name,
    }
    return any(f"{MADE_TAG_PREFIX}{kind}" in tags and fits(name) for kind, fits in kinds.items())


def is_made_cache(name: str, tags: tuple[str, ...]) -> bool:
    """True for a cache pool or a cache device that the agent made."""
    is_cache = is_pool_name(name) or is_cache_device_name(name)
    return is_cache and is_made_beside(name, tags)


def scratch_name(key: str) -> str:
    """The LV name of the scratch volume that a benchmark's run makes for its data."""
    return f"b-{key}"


def scratch_key(name: str, tags: tuple[str, ...]) -> str | None:
    """The run that a scratch volume was made for, by its name and its tags; None for every other
    volume."""
    key = name.removeprefix("b-").removesuffix("-cache")
    is_named = name in (scratch_name(key), f"{scratch_name(key)}-cache")
    if not is_named or KEY_PATTERN.fullmatch(key) is None or MANAGED_TAG not in tags:
        return None
    marks = [tag for tag in tags if tag.startswith((BENCHMARK_TAG_PREFIX, VOLUME_TAG_PREFIX))]
    return key if marks == [f"{BENCHMARK_TAG_PREFIX}{key}"] else None


def is_reserved_name(name: str) -> bool:
    """True for what Tiercel calls things that are no volume in service."""
    key = name.removeprefix("del-")
    retired = key != name and KEY_PATTERN.fullmatch(key) is not None
    beside = (is_pool_name, is_cache_device_name, is_room_name, is_held_name)
    return retired or any(fits(name) for fits in beside)


def volume_tag(key: str) -> str:
    """The tag that ties an LV to the volume record `key`."""
    return f"{VOLUME_TAG_PREFIX}{key}"


def grown_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    """The tags that say that a volume has grown and its guest may not know."""
    return tuple(tag for tag in tags if tag.partition("=")[0] == GROWN_TAG)


def size_known_to_guest(tags: tuple[str, ...]) -> int | None:
    """The size in bytes that a volume had before it grew, by the one tag that says so."""
    grown = grown_tags(tags)
    match = re.fullmatch(rf"{GROWN_TAG}=(\d{{1,18}})", grown[0]) if len(grown) == 1 else None
    known = int(match.group(1)) if match else 0
    return known if known and known % 512 == 0 else None


def tagged_volume_key(tags: tuple[str, ...]) -> str | None:
    """The volume key among LVM tags; None where there is none, or more than one."""
    keys = tagged_volume_keys(tags)
    return keys[0] if len(keys) == 1 else None


def tagged_volume_keys(tags: tuple[str, ...]) -> tuple[str, ...]:
    """Every volume key among LVM tags, each once. Tags come from the host: anything odd is
    ignored."""
    keys = (
        tag.removeprefix(VOLUME_TAG_PREFIX) for tag in tags if tag.startswith(VOLUME_TAG_PREFIX)
    )
    return tuple(dict.fromkeys(key for key in keys if KEY_PATTERN.fullmatch(key)))
