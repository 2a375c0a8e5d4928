"""What pages, the API and charts call the states of caches and conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

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
