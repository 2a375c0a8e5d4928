"""The mutating verbs: what is checked before their commands run."""

from __future__ import annotations

from collections.abc import Mapping

from . import (
    backing,
    cache,
    clear,
    cset,
    destroy,
    growth,
    life,
    lost,
    move,
    pool,
    ssd,
    tuning,
    volume,
)
from .base import Verb

VERBS: Mapping[str, Verb] = {
    "volume.create": volume.CREATE,
    "volume.tag": volume.TAG,
    "volume.retire": life.RETIRE,
    "volume.restore": life.RESTORE,
    "volume.destroy": destroy.DESTROY,
    "volume.extend": growth.EXTEND,
    "volume.move": move.MOVE,
    "volume.clear": clear.CLEAR,
    "move.abort": move.ABORT,
    "guest.resize": growth.RESIZE,
    "pool.create": pool.CREATE,
    "pool.remove": pool.REMOVE,
    "cache.attach": cache.ATTACH,
    "cache.set": cache.SET,
    "cache.flush": cache.FLUSH,
    "cache.detach": cache.DETACH,
    "cache.drop": lost.DROP,
    "ssd.prepare": ssd.PREPARE,
    "cset.create": cset.CREATE,
    "cset.remove": cset.REMOVE,
    "bcache.format": backing.FORMAT,
    "bcache.attach": backing.ATTACH,
    "bcache.detach": backing.DETACH,
    "bcache.flush": tuning.FLUSH,
    "bcache.set": tuning.SET,
    "bcache.stop": backing.STOP,
}
