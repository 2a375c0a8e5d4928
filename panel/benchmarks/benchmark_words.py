"""What pages, the API and charts call loads, states and conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PROFILES: Final[Mapping[str, str]] = {
    "zipf_read": "hot random reads (zipf 1.2)",
    "mixed": "mixed, 70 % reads (zipf 1.2)",
    "sequential_read": "sequential reads",
    "sequential_write": "sequential writes",
    "sync_write": "database log (synced writes)",
    "file_tree": "tree of small files",
    "sql": "SQL transactions",
    "heat": "heat of a volume, replayed",
    "own": "fio job of your own",
}
ABOUT_PROFILES: Final[Mapping[str, str]] = {
    "zipf_read": "Few blocks are read often, many seldom: the load that a cache is for, and the "
    "one of the published comparison.",
    "mixed": "The same, and 30 % of the requests write.",
    "sequential_read": "Large reads one after the other, as a backup makes them. Most caches let "
    "them pass.",
    "sequential_write": "Large writes one after the other, as a restore makes them.",
    "sync_write": "Small writes, each confirmed before the next, as a database commits.",
    "file_tree": "Files as large as git's own are written as by a clone, then read in random order "
    "as by a search. A request is a file.",
    "sql": "SQLite reads, changes and adds rows as pgbench does. A request is a transaction.",
    "own": "One job of a job file, with options from a list of safe ones.",
}
"""Of those that can be ordered: heat is replayed from a matrix that has a volume's figures."""
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
