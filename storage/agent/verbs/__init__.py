"""The mutating verbs: what is checked before their commands run."""

from __future__ import annotations

from collections.abc import Mapping

from . import (
    backing,
    clear,
    cset,
    destroy,
    drop,
    extend,
    lvm_cache,
    move,
    pool,
    prepare_ssd,
    retire,
    tuning,
    volume_creation,
)
from .verb import Verb

VERBS: Mapping[str, Verb] = {
    "volume.create": volume_creation.CREATE,
    "volume.tag": volume_creation.TAG,
    "volume.retire": retire.RETIRE,
    "volume.restore": retire.RESTORE,
    "volume.destroy": destroy.DESTROY,
    "volume.extend": extend.EXTEND,
    "volume.move": move.MOVE,
    "volume.clear": clear.CLEAR,
    "move.abort": move.ABORT,
    "guest.resize": extend.RESIZE,
    "pool.create": pool.CREATE,
    "pool.remove": pool.REMOVE,
    "cache.attach": lvm_cache.ATTACH,
    "cache.set": lvm_cache.SET,
    "cache.flush": lvm_cache.FLUSH,
    "cache.detach": lvm_cache.DETACH,
    "cache.drop": drop.DROP,
    "ssd.prepare": prepare_ssd.PREPARE,
    "cset.create": cset.CREATE,
    "cset.remove": cset.REMOVE,
    "bcache.format": backing.FORMAT,
    "bcache.attach": backing.ATTACH,
    "bcache.detach": backing.DETACH,
    "bcache.flush": tuning.FLUSH,
    "bcache.set": tuning.SET,
    "bcache.stop": backing.STOP,
}
