"""Why an interval has no figures."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class GapReason(StrEnum):
    """Why an interval has no figures, or none of the cache. `sentence` is for people."""

    FIRST = "first"
    MOVED = "moved"
    REBOOTED = "rebooted"
    REPLACED = "replaced"
    CLOCK = "clock"
    SILENT = "silent"
    RESET = "reset"
    IMPLAUSIBLE = "implausible"
    CACHE_ATTACHED = "cache-attached"
    CACHE_CHANGED = "cache-changed"
    CACHE_REWOUND = "cache-rewound"
    CACHE_IMPLAUSIBLE = "cache-implausible"
    CACHE_PASSTHROUGH = "cache-passthrough"
    CACHE_FAILED = "cache-failed"

    @property
    def sentence(self) -> str:
        return SENTENCES[self]


SENTENCES: Final = {
    GapReason.FIRST: "the first sample has just been taken",
    GapReason.MOVED: "the volume moved",
    GapReason.REBOOTED: "the host rebooted",
    GapReason.REPLACED: "the device was recreated",
    GapReason.CLOCK: "the host's clock stood still or went back",
    GapReason.SILENT: "no data from the host for too long",
    GapReason.RESET: "the kernel's counters were reset",
    GapReason.IMPLAUSIBLE: "the counters moved faster than any disk can",
    GapReason.CACHE_ATTACHED: "the cache has just been attached",
    GapReason.CACHE_CHANGED: "the cache was changed",
    GapReason.CACHE_REWOUND: "the cache's counters went back",
    GapReason.CACHE_IMPLAUSIBLE: "the cache's counters do not fit the disk's",
    GapReason.CACHE_PASSTHROUGH: "the cache is in passthrough mode and is not used",
    GapReason.CACHE_FAILED: "the cache has failed",
}
