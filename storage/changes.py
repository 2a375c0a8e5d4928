"""What a wish would change, in words: the table a person reads before confirming. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from storage.templatetags.units import size
from storage.wish import Bcache, LvmCache, Wish


@dataclass(frozen=True, slots=True)
class Change:
    what: str
    before: str
    after: str


def changes(before: Wish | None, after: Wish) -> tuple[Change, ...]:
    """The differences, `before` None for a volume that does not exist yet."""
    old = _described(before) if before is not None else {}
    return tuple(
        Change(what, old.get(what, "-"), now)
        for what, now in _described(after).items()
        if old.get(what) != now
    )


def _described(wish: Wish) -> dict[str, str]:
    cache = wish.cache
    return {
        "Size": size(wish.size_bytes),
        "Layout": "bcache-ready" if wish.layout == "bcache" else "plain",
        "Cache": _technology(cache),
        "Cache size": size(cache.size_bytes) if cache is not None else "-",
        "Cache mode": _mode(cache),
    }


def _technology(cache: LvmCache | Bcache | None) -> str:
    if cache is None:
        return "none"
    return "lvmcache" if isinstance(cache, LvmCache) else "bcache"


def _mode(cache: LvmCache | Bcache | None) -> str:
    if cache is None:
        return "-"
    return cache.mode if isinstance(cache, LvmCache) else cache.cache_mode
