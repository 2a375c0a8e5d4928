"""What pages, the API and charts call targets, loads, states and conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

TARGETS: Final[Mapping[str, str]] = {
    "ssd": "SSD alone",
    "hdd": "HDD alone",
    "lvmcache": "lvmcache",
    "bcache": "bcache",
}
PROFILES: Final[Mapping[str, str]] = {
    "zipf_read": "hot random reads (zipf 1.2)",
    "mixed": "mixed, 70 % reads (zipf 1.2)",
    "sequential_read": "sequential reads",
    "sequential_write": "sequential writes",
    "sync_write": "database log (synced writes)",
    "own": "fio options of your own",
}
ABOUT_PROFILES: Final[Mapping[str, str]] = {
    "zipf_read": "Few blocks are read often, many seldom: the load that a cache is for, and the "
    "one of the published comparison.",
    "mixed": "The same, and 30 % of the requests write.",
    "sequential_read": "Large reads one after the other, as a backup makes them. Most caches let "
    "them pass.",
    "sequential_write": "Large writes one after the other, as a restore makes them.",
    "sync_write": "Small writes, each confirmed before the next, as a database commits.",
    "own": "Options of fio from a list of safe ones.",
}
STATES: Final[Mapping[str, str]] = {
    "new": "new",
    "warmed": "warmed",
    "junk": "full of junk",
}
ABOUT_STATES: Final[Mapping[str, str]] = {
    "new": "The cache is empty when the run begins.",
    "warmed": "The same load ran before, for the time below.",
    "junk": "The cache is full of blocks that the run never reads. Old kernels never recover.",
}
CONDITIONS: Final[Mapping[str, str]] = {
    "target": "Target",
    "profile": "Load",
    "fio_version": "fio",
    "kernel": "Kernel",
    "lvm2_version": "lvm2",
    "bcache_tools_version": "bcache-tools",
    "is_guest": "Guest",
    "ssd_model": "SSD",
    "ssd_firmware": "Firmware of the SSD",
    "hdd_model": "HDD",
    "hdd_firmware": "Firmware of the HDD",
    "raid_level": "RAID",
    "stripe_bytes": "Stripe",
    "drive_write_cache": "Write cache of the drives",
    "io_scheduler": "I/O scheduler",
    "nr_requests": "nr_requests",
    "read_ahead_kb": "Read-ahead",
    "data_to_cache": "Data to cache",
    "cache_mode": "Cache mode",
    "cache_policy": "Cache policy",
    "chunk_bytes": "Chunks",
    "migration_threshold": "migration_threshold",
    "sequential_cutoff_bytes": "Sequential cutoff",
    "state_before": "State before",
    "cpu_governor": "CPU governor",
    "mitigations": "Mitigations",
}
"""Fields of `storage.analysis.comparison.Conditions`."""
OF_THE_SETUP: Final = frozenset(
    {
        "target",
        "data_to_cache",
        "cache_mode",
        "cache_policy",
        "chunk_bytes",
        "migration_threshold",
        "sequential_cutoff_bytes",
        "state_before",
    }
)
"""Those that a benchmark varies on purpose."""
