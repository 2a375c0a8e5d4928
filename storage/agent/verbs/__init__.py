"""The mutating verbs: what is checked before their commands run."""

from __future__ import annotations

from collections.abc import Mapping

from . import backing, cache, cset, pool, volume
from .base import Verb

VERBS: Mapping[str, Verb] = {
    "volume.create": volume.CREATE,
    "volume.tag": volume.TAG,
    "pool.create": pool.CREATE,
    "pool.remove": pool.REMOVE,
    "cache.attach": cache.ATTACH,
    "cache.set": cache.SET,
    "cache.flush": cache.FLUSH,
    "cache.detach": cache.DETACH,
    "cset.create": cset.CREATE,
    "cset.remove": cset.REMOVE,
    "bcache.format": backing.FORMAT,
    "bcache.attach": backing.ATTACH,
    "bcache.detach": backing.DETACH,
    "bcache.set": backing.SET,
    "bcache.stop": backing.STOP,
}
