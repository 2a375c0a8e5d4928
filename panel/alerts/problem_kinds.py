"""The words of each kind of problem, in one table: for the overview, alerts and mails. Pure."""

from __future__ import annotations

from typing import Final

from panel.alerts.concern_kind import CACHES, FAILED, JOBS, LOST, UNDECIDED, ConcernKind
from panel.alerts.host_kinds import HOST_KINDS

KINDS: Final = {
    # Data at risk
    "writeback_degraded": ConcernKind(
        "Writeback on a degraded mirror",
        "{count} volumes use writeback on a degraded SSD mirror",
        "New data exists on one SSD only.",
    ),
    "writeback_single_ssd": ConcernKind(
        "Writeback without a mirror",
        "{count} volumes use writeback on an SSD without a mirror",
        "If that SSD fails, dirty data is lost.",
    ),
    "cache_lost": ConcernKind(
        "Cache lost with new data",
        "{count} bcache volumes lost their SSD while it held new data",
        "The guest's newest data may be lost. The volume stays stopped.",
        CACHES,
    ),
    "ssd_lost": ConcernKind(
        "SSD of a cache missing",
        "The SSD under the caches of {count} volumes is missing",
        "The guest sees I/O errors until the SSD is back or the lost cache is dropped.",
    ),
    "pv_missing": ConcernKind(
        "Disk of a volume group missing",
        "{count} volume groups have a missing disk",
        "Data on that disk cannot be read, and the group cannot be changed.",
    ),
    "inventory_shrank": ConcernKind(
        "Most volumes missing",
        "Most volumes of {count} hosts are missing",
        "A disk or a whole volume group may be gone.",
        LOST,
    ),
    "array_degraded": ConcernKind(
        "Array degraded",
        "{count} arrays are degraded",
        "A second disk failure can destroy all data on this array.",
    ),
    "array_failed": ConcernKind(
        "Array failed",
        "{count} arrays have failed",
        "The array lost more disks than it can: its data cannot be read or written.",
    ),
    "array_inactive": ConcernKind(
        "Array not started",
        "{count} arrays are not started",
        "Everything on such an array is away.",
    ),
    "array_read_only": ConcernKind(
        "Array read-only",
        "{count} arrays take no writes",
        "Guests on such an array cannot write.",
    ),
    "array_unclear": ConcernKind(
        "Array in an unclear state",
        "{count} arrays are in an unclear state",
        "The array may be missing a disk, or take no I/O.",
    ),
    "guest_array": ConcernKind(
        "Guest's array started",
        "{count} arrays of guests are started on their hosts",
        "Host and guest write to the same disk: the guest's data can be damaged.",
    ),
    "lv_raid_degraded": ConcernKind(
        "Mirrored volume degraded",
        "{count} volumes that LVM mirrors are missing a disk",
        "Another disk failure can destroy their data.",
    ),
    "lv_raid_failed": ConcernKind(
        "Mirrored volume failed",
        "{count} volumes on LVM RAID have lost more disks than they survive",
        "Their data cannot be read until the disks are back.",
    ),
    "lv_raid_unknown": ConcernKind(
        "Mirrored volume in an unknown state",
        "{count} volumes that LVM mirrors are in an unknown state",
        "A copy of the data may be missing.",
    ),
    "pv_duplicate": ConcernKind(
        "Disk seen twice",
        "Physical volumes of {count} groups are seen twice",
        "Nothing of such a group can be activated or changed.",
    ),
    "disk_vanished": ConcernKind(
        "Disk gone",
        "{count} disks are gone",
        "Data stored only there is lost. A hardware array may be degraded.",
    ),
    "disk_failing": ConcernKind(
        "Disk failing",
        "{count} disks say that they are failing",
        "The disk may lose data or stop at any time.",
    ),
    "attribute_failed": ConcernKind(
        "SMART attribute below threshold",
        "{count} disks are below a limit of their maker",
        "The disk may lose data or stop at any time.",
    ),
    "spare_low": ConcernKind(
        "SSD without spare blocks",
        "{count} SSDs have hardly any spare blocks left",
        "Without spare blocks an SSD stops accepting writes.",
    ),
    "self_test_failed": ConcernKind(
        "Self-test failed",
        "{count} disks failed their last self-test",
        "Some of the disk cannot be read any more.",
    ),
    "kernel_data_loss": ConcernKind(
        "Kernel that loses data of caches",
        "{count} hosts run a kernel that loses data of their caches",
        "What guests wrote may be lost at the next restart or error.",
    ),
    # Disks
    "disk_hung": ConcernKind(
        "Disk does not answer",
        "{count} disks do not answer",
        "Programs that use the disk wait for it.",
    ),
    "disk_unread": ConcernKind(
        "Disk health not read",
        "The health of {count} disks cannot be read",
        "Nobody will be told if such a disk begins to fail.",
    ),
    "smart_stale": ConcernKind(
        "Disks not read for a day",
        "The disks of {count} hosts have not been read for a day",
        "Nobody will be told if such a disk begins to fail.",
    ),
    "no_smartctl": ConcernKind(
        "smartctl missing",
        "{count} hosts have no smartctl",
        "Nobody will be told if one of their disks begins to fail.",
    ),
    "uncorrectable_rose": ConcernKind(
        "More uncorrectable errors",
        "{count} disks have new uncorrectable errors",
        "Some of the disk's data is lost.",
    ),
    "reported_rose": ConcernKind(
        "More read errors",
        "{count} disks reported read errors",
        "Some of the disk's data could not be read.",
    ),
    "pending_rose": ConcernKind(
        "More pending sectors",
        "{count} disks have new pending sectors",
        "These sectors cannot be read now. An array reads them from its other disks.",
    ),
    "reallocated_rose": ConcernKind(
        "More reallocated sectors",
        "{count} disks replaced sectors",
        "A disk that replaces more and more sectors will fail.",
    ),
    "crc_rose": ConcernKind(
        "More transfer errors",
        "{count} disks had new transfer errors",
        "The host repeats such transfers: the disk is slower, and may drop out.",
    ),
    "worn": ConcernKind(
        "SSD worn", "{count} SSDs are worn", "A worn SSD may stop accepting writes."
    ),
    "wears_out_soon": ConcernKind(
        "SSD wears out soon",
        "{count} SSDs will wear out soon",
        "A worn SSD may stop accepting writes.",
    ),
    "disk_hot": ConcernKind(
        "Disk hot", "{count} disks are too hot", "Heat shortens the life of a disk."
    ),
    # Caches and volumes
    "array_mismatch": ConcernKind(
        "Copies of an array differ",
        "The copies of {count} arrays differ",
        "One of the copies may be wrong.",
    ),
    "lv_raid_refresh": ConcernKind(
        "Old copy of a mirrored volume",
        "A copy of {count} volumes that LVM mirrors is old",
        "Another disk failure can destroy their data.",
    ),
    "lv_raid_mismatch": ConcernKind(
        "Copies of a mirrored volume differ",
        "The copies of {count} volumes that LVM mirrors differ",
        "One of the copies may be wrong.",
    ),
    "array_weakened": ConcernKind(
        "Array with less redundancy",
        "{count} arrays have lost a disk and can lose another",
        "One more disk can fail without loss; after that, the next one destroys data.",
    ),
    "array_recovering": ConcernKind(
        "Array being rebuilt",
        "{count} arrays are being rebuilt",
        "Until the rebuild ends, another disk failure can destroy all data.",
    ),
    "cache_failed": ConcernKind(
        "Cache failed",
        "{count} caches have failed",
        "The guest's flushes fail: its file systems turn read-only. A restart needs a repair.",
        CACHES,
    ),
    "cache_needs_check": ConcernKind(
        "Cache metadata needs a check",
        "The metadata of {count} caches needs a check",
        "The guest's flushes fail: its file systems turn read-only.",
        CACHES,
    ),
    "cache_unregistered": ConcernKind(
        "Cache SSD not registered",
        "The SSD of {count} bcache volumes is not registered",
        "The volume is slow, or is stopped until its SSD is registered.",
        CACHES,
    ),
    "bcache_waiting": ConcernKind(
        "bcache without its SSD",
        "{count} bcache devices made by hand wait for their SSD, or lost it",
        "The device is away, and its newest data may be on that SSD alone.",
    ),
    "bcache_state_unknown": ConcernKind(
        "State of a bcache unknown",
        "The state of {count} bcache devices is unknown",
        "Their newest data may be on the SSD alone.",
    ),
    "cset_without_device": ConcernKind(
        "Cache set without a device",
        "{count} bcache cache sets have no cache device",
        "Volumes that use it are slow, or are stopped.",
    ),
    "lv_unknown_type": ConcernKind(
        "Volume of an unknown type",
        "LVM does not know the type of {count} volumes",
        "LVM on these hosts can neither activate nor change them.",
    ),
    "unread_facts": ConcernKind(
        "Part of a host not understood",
        "Parts of {count} inventories cannot be read",
        "What cannot be read is not shown, and nothing of its group is changed.",
    ),
    "cache_read_only": ConcernKind(
        "Cache metadata read-only",
        "The metadata of {count} caches cannot be written",
        "The cache does not learn, and may not come back after a restart.",
    ),
    "cache_metadata_full": ConcernKind(
        "Cache metadata nearly full",
        "The metadata of {count} caches is nearly full",
        "Once it is full, the cache stops learning and needs a repair.",
    ),
    "vg_metadata_full": ConcernKind(
        "Metadata of a volume group nearly full",
        "The metadata of {count} volume groups is nearly full",
        "Once it is full, no volume of the group can be changed or created.",
    ),
    "volume_frozen": ConcernKind(
        "Volume frozen", "{count} volumes are suspended", "Their guests hang: every I/O waits."
    ),
    "cache_dirty_stuck": ConcernKind(
        "Dirty data not written back",
        "{count} caches do not write back their dirty data",
        "The newest data stays on the SSD alone, and removing the cache takes long.",
    ),
    "cache_dirty_high": ConcernKind(
        "Much dirty data",
        "More of {count} caches is dirty than their hosts' limit",
        "If the SSD fails, this data is lost.",
    ),
    "cache_thrash": ConcernKind(
        "Cache too small",
        "{count} caches are thrashing",
        "The guest gains little, the HDD does more, and the SSD wears.",
    ),
    "cache_bypassed": ConcernKind(
        "Cache bypassed",
        "Nearly all reads of {count} volumes go past their cache",
        "The guest reads from the HDD, although the kernel's hit rate looks fine.",
    ),
    "cache_useless": ConcernKind(
        "Cache full but useless",
        "{count} caches are full, but hardly anything is read from them",
        "The SSD space is wasted.",
    ),
    "hit_rate_fell": ConcernKind(
        "Hit rate fell",
        "The hit rate of {count} caches fell against last week",
        "The guest waits for the HDD more often than it did.",
    ),
    "hit_rate_doubtful": ConcernKind(
        "Hit rate doubtful",
        "The hit rates of {count} caches do not fit what their disks did",
        "Decisions by such a hit rate may be wrong.",
    ),
    "cache_slower": ConcernKind(
        "Slower with cache",
        "{count} volumes are slower with their cache than without",
        "The customer pays for a cache that slows the volume.",
    ),
    "ssd_saturated": ConcernKind(
        "SSD saturated",
        "{count} SSDs are overloaded",
        "All caches on such an SSD are slow.",
    ),
    "volume_slow": ConcernKind(
        "Volume slow",
        "{count} volumes are slow",
        "Their guests wait for the disk.",
    ),
    "hdd_saturated": ConcernKind(
        "HDD saturated",
        "{count} HDDs are overloaded",
        "All volumes on such an HDD are slow.",
    ),
    "volume_inactive": ConcernKind(
        "Volume inactive", "{count} volumes are inactive", "Their guests cannot start."
    ),
    "orphan_device": ConcernKind(
        "Leftover device",
        "{count} devices without a volume are left in the kernel",
        "Their blocks may belong to another volume now. A program that opens such a device could "
        "overwrite that volume.",
    ),
    "drift": ConcernKind(
        "Volume differs from the record",
        "{count} volumes differ from the record",
        "A manual change is not recorded: the next job may fail or undo it.",
    ),
    "unfinished": ConcernKind(
        "Volume not finished",
        "{count} new volumes are not finished",
        "They may contain old data of other customers.",
    ),
    "volumes_missing": ConcernKind(
        "Volumes missing",
        "Volumes of {count} hosts are missing",
        "Customers may pay for volumes that no longer exist.",
        LOST,
    ),
    "kernel_unsure": ConcernKind(
        "Kernel that may lose data",
        "{count} hosts report too little about their kernel",
        "Nobody can tell whether their kernel loses data of caches.",
    ),
    # Jobs
    "job_undecided": ConcernKind(
        "Job needs a decision",
        "{count} jobs need a decision",
        "The volume stays locked until a person decides.",
        UNDECIDED,
    ),
    "job_failed": ConcernKind(
        "Job failed", "{count} jobs failed", "The job failed and will not be retried.", FAILED
    ),
    "halt": ConcernKind(
        "All jobs paused",
        "All jobs are paused",
        "No new step starts on any host until an admin resumes jobs.",
        JOBS,
    ),
    # The panel itself
    "jobs_untaken": ConcernKind(
        "No worker takes jobs",
        "No worker takes jobs",
        "Nothing changes on any host.",
        JOBS,
    ),
    "worker_silent": ConcernKind(
        "Worker silent",
        "No worker gives a sign of life",
        "Nothing changes on any host.",
        JOBS,
    ),
    "housekeeping_silent": ConcernKind(
        "Housekeeping silent",
        "Housekeeping gives no sign of life",
        "Alerts, mails and orders are not handled.",
        JOBS,
    ),
    "workers_busy": ConcernKind(
        "All workers busy",
        "All workers are busy",
        "Jobs begin late.",
        JOBS,
    ),
    "slot_stuck": ConcernKind(
        "Part of a worker hangs",
        "Parts of a worker or collector hang",
        "Fewer jobs run at a time.",
        JOBS,
    ),
    "collector_silent": ConcernKind(
        "Collector silent",
        "No collector gives a sign of life",
        "Charts and hit rates have a gap, and advice is based on old data.",
        JOBS,
    ),
    "beat_silent": ConcernKind(
        "Beat silent",
        "Beat gives no sign of life",
        "Hosts are not sampled, alerts are not judged, and jobs that wait are not taken up again.",
        JOBS,
    ),
    **HOST_KINDS,
}
