"""The exact commands of every verb: what a preview shows is what runs."""

from __future__ import annotations

from typing import Any

import pytest

from storage.agent.verbs.registry import VERBS, commands

CSET = "1f92c373-e8d9-4e05-8f27-be6825d7e039"
NEW = {"vg": "vg0", "size_bytes": 1 << 30, "pvs": ("md0", "sdc"), "volume_key": "abcdefgh"}
VOLUME = {"vg": "vg0", "lv": "v-abcdefgh"}
LIFE = {**VOLUME, "retired_name": "del-abcdefgh", "volume_key": "abcdefgh"}
SYSFS = "/sys/block/$(basename $(realpath /dev/vg0/v-abcdefgh))/bcache"

BENCH = {
    "vg": "vg0",
    "key": "abcdefgh",
    "data_bytes": 64 << 20,
    "cache_bytes": 16 << 20,
    "state": "new",
    "profile": "zipf_read",
    "seconds": 60,
    "seed": 7,
    "jobs": 1,
    "iodepth": 4,
    "block_bytes": 4096,
    "slow_pvs": ("sdc",),
    "fast_pvs": ("md0",),
    "mode": "writethrough",
}
BENCH_TAGS = "--addtag tiercel --addtag tiercel.bench=abcdefgh"
FIO = (
    "--filename=/dev/vg0/b-abcdefgh --thread=1 --ioengine=libaio --direct=1 --invalidate=1 "
    "--randrepeat=0 --allrandrepeat=0 "
)
RESULT = "/var/lib/tiercel/benchmarks/abcdefgh"

EXPECTED: list[tuple[str, dict[str, Any], list[str]]] = [
    (
        "volume.create",
        {**NEW, "name": "v-abcdefgh", "layout": "plain"},
        [
            "lvcreate -y -Wy -Zy -n v-abcdefgh -L 1073741824b --addtag tiercel "
            "--addtag tiercel.volume=abcdefgh --addtag tiercel.zeroing vg0 /dev/md0 /dev/sdc",
            "blkdiscard --zeroout --step 1MiB /dev/vg0/v-abcdefgh",
            "lvchange --deltag tiercel.zeroing vg0/v-abcdefgh",
        ],
    ),
    (
        "volume.tag",
        {**VOLUME, "volume_key": "abcdefgh"},
        ["lvchange --addtag tiercel --addtag tiercel.volume=abcdefgh vg0/v-abcdefgh"],
    ),
    (
        "volume.extend",
        {
            **VOLUME,
            "from_bytes": 1 << 30,
            "size_bytes": 3 << 30,
            "pvs": ("sdc",),
            "volume_key": "abcdefgh",
        },
        [
            "lvcreate -y -Wy -Zy -n x-abcdefgh -L 2147483648b --addtag tiercel "
            "--addtag tiercel.volume=abcdefgh --addtag tiercel.made=room "
            "--addtag tiercel.zeroing vg0 /dev/sdc",
            "blkdiscard --zeroout --step 1MiB /dev/vg0/x-abcdefgh",
            "lvchange --deltag tiercel.zeroing vg0/x-abcdefgh",
            "lvchange --addtag tiercel.grown=1073741824 vg0/v-abcdefgh",
            "lvremove -y --config devices/issue_discards=0 vg0/x-abcdefgh",
            "lvextend -L 3221225472b vg0/v-abcdefgh <extents of vg0/x-abcdefgh>",
        ],
    ),
    (
        "guest.resize",
        {
            **VOLUME,
            "size_bytes": 3 << 30,
            "from_bytes": 1 << 30,
            "guests": ("web12", "db1"),
            "domains": ({"uuid": CSET, "path": "/dev/vg0/v-abcdefgh"},),
        },
        [
            f"virsh -q -c qemu:///system blockresize {CSET} /dev/vg0/v-abcdefgh 3221225472B",
            "QMP of web12, db1: block_resize vg0/v-abcdefgh to 3221225472 bytes",
            "lvchange --deltag tiercel.grown=1073741824 vg0/v-abcdefgh",
        ],
    ),
    (
        "volume.move",
        {**VOLUME, "from_pvs": ("sdc", "sdd"), "to_pvs": ("md0",)},
        [
            "lvchange --addtag tiercel.left=<each range that vg0/v-abcdefgh has on sdc,sdd> "
            "vg0/v-abcdefgh",
            "lvchange --addtag tiercel.moving vg0/v-abcdefgh",
            "pvmove --config 'activation/mirror_region_size=512 activation/raid_region_size=512' "
            "-i 10 --atomic -n vg0/v-abcdefgh /dev/sdc /dev/md0",
            "pvmove --config 'activation/mirror_region_size=512 activation/raid_region_size=512' "
            "-i 10 --atomic -n vg0/v-abcdefgh /dev/sdd /dev/md0",
            "lvchange --deltag tiercel.moving vg0/v-abcdefgh",
        ],
    ),
    (
        "volume.clear",
        {**VOLUME, "volume_key": "abcdefgh"},
        [
            "lvcreate -y -Wy -Zy --alloc anywhere -n w-abcdefgh -l <how many extents> "
            "--addtag tiercel --addtag tiercel.volume=abcdefgh --addtag tiercel.made=left "
            "--addtag tiercel.zeroing vg0 <where it lies>",
            "blkdiscard --zeroout --step 1MiB /dev/vg0/w-abcdefgh",
            "lvchange --deltag tiercel.left=<each range that is cleared> vg0/v-abcdefgh",
            "lvremove -y vg0/w-abcdefgh",
        ],
    ),
    (
        "pool.remove",
        {"vg": "vg0", "pool": "c-abcdefgh", "lv": "v-abcdefgh"},
        [
            "lvchange --addtag tiercel.left=<each range that vg0/c-abcdefgh_cdata,c-abcdefgh_cmeta "
            "has on any disk> vg0/v-abcdefgh",
            "lvremove -y vg0/c-abcdefgh",
        ],
    ),
    (
        "move.abort",
        {**VOLUME, "pv": "sdc"},
        [
            "lvchange --addtag tiercel.left=<each range that vg0/v-abcdefgh has on any disk> "
            "vg0/v-abcdefgh",
            "pvmove --abort /dev/sdc",
            "lvchange --deltag tiercel.moving vg0/v-abcdefgh",
        ],
    ),
    (
        "volume.retire",
        {**LIFE, "layout": "bcache"},
        [
            "lvchange --addtag tiercel.name=v-abcdefgh --addtag "
            '"tiercel.retired=$(date +%s)" --setactivationskip y vg0/v-abcdefgh',
            f"echo 1 > {SYSFS}/stop",
            "lvchange -an vg0/v-abcdefgh",
            "lvrename vg0 v-abcdefgh del-abcdefgh",
        ],
    ),
    (
        "volume.restore",
        {**LIFE, "layout": "plain", "retired_at": 1790000000},
        [
            "lvrename vg0 del-abcdefgh v-abcdefgh",
            "lvchange -ay -K vg0/v-abcdefgh",
            "lvchange --deltag tiercel.name=v-abcdefgh --deltag tiercel.retired=1790000000 "
            "--setactivationskip n vg0/v-abcdefgh",
        ],
    ),
    (
        "volume.destroy",
        {
            "vg": "vg0",
            "lv": "del-abcdefgh",
            "lv_uuid": "u",
            "size_bytes": 1 << 30,
            "volume_key": "abcdefgh",
            "layout": "bcache",
        },
        [
            "lvchange --addtag tiercel.wiping vg0/del-abcdefgh",
            "lvchange -ay -K vg0/del-abcdefgh",
            "modprobe bcache",
            "echo /dev/vg0/del-abcdefgh > /sys/fs/bcache/register_quiet",
            "echo 1 > /sys/block/$(basename $(realpath /dev/vg0/del-abcdefgh))/bcache/stop",
            "wipefs -a -t bcache /dev/vg0/del-abcdefgh",
            "blkdiscard --zeroout --step 1MiB /dev/vg0/del-abcdefgh",
            "lvremove -y -S lv_uuid=u vg0/del-abcdefgh",
        ],
    ),
    (
        "pool.create",
        {**NEW, "name": "c-abcdefgh", "chunk_kib": 64},
        [
            "lvcreate -y -Wy -Zy -n c-abcdefgh -L 1073741824b --addtag tiercel "
            "--addtag tiercel.volume=abcdefgh --addtag tiercel.made=pool --addtag tiercel.zeroing "
            "vg0 /dev/md0 /dev/sdc",
            "blkdiscard --zeroout --step 1MiB /dev/vg0/c-abcdefgh",
            "lvchange --deltag tiercel.zeroing --addtag tiercel.zeroed vg0/c-abcdefgh",
            "lvconvert -y --type cache-pool --chunksize 64k vg0/c-abcdefgh /dev/md0 /dev/sdc",
        ],
    ),
    ("pool.remove", {"vg": "vg0", "pool": "c-abcdefgh"}, ["lvremove -y vg0/c-abcdefgh"]),
    (
        "cache.attach",
        {**VOLUME, "pool": "c-abcdefgh", "mode": "writeback", "migration_threshold": 16384},
        [
            "lvconvert -y --type cache --cachepool vg0/c-abcdefgh --cachemode writeback "
            "--cachepolicy smq --cachesettings migration_threshold=16384 vg0/v-abcdefgh"
        ],
    ),
    (
        "cache.set",
        {**VOLUME, "mode": "writethrough", "policy": "smq", "migration_threshold": 2048},
        [
            "lvchange -y --cachemode writethrough vg0/v-abcdefgh",
            "lvchange -y --cachepolicy smq vg0/v-abcdefgh",
            "lvchange -y --cachesettings migration_threshold=2048 vg0/v-abcdefgh",
        ],
    ),
    (
        "cache.flush",
        {**VOLUME, "dirty_limit_bytes": 0},
        ["lvchange -y --cachepolicy cleaner vg0/v-abcdefgh"],
    ),
    (
        "cache.detach",
        {**VOLUME, "pool": "c-abcdefgh", "dirty_limit_bytes": 0},
        [
            "lvchange --addtag tiercel.left="
            "<each range that vg0/c-abcdefgh_cpool_cdata,c-abcdefgh_cpool_cmeta has on any disk> "
            "vg0/v-abcdefgh",
            "lvconvert -y --uncache vg0/v-abcdefgh",
        ],
    ),
    (
        "cache.drop",
        {**VOLUME, "pool": "c-abcdefgh"},
        ["lvconvert -y --uncache vg0/v-abcdefgh"],
    ),
    (
        "ssd.prepare",
        {"vg": "vg0", "device": "sde", "serial": "S4EVNF0M"},
        ["pvcreate --metadatasize 16m /dev/sde", "vgextend vg0 /dev/sde"],
    ),
    (
        "array.replace",
        {
            "vg": "vg0",
            "array": "md0",
            "uuid": "aa:bb",
            "member": "sda",
            "device": "sde",
            "serial": "S4EVNF0M",
        },
        [
            "mdadm --manage /dev/md0 --add /dev/sde",
            "mdadm --manage /dev/md0 --replace /dev/sda --with /dev/sde",
            "mdadm --wait /dev/md0",
            "mdadm --manage /dev/md0 --remove /dev/sda",
        ],
    ),
    (
        "cset.create",
        {**NEW, "name": "s-abcdefgh", "cset_uuid": CSET, "bucket_kib": 512},
        [
            "lvcreate -y -Wy -Zy -n s-abcdefgh -L 1073741824b --addtag tiercel "
            "--addtag tiercel.volume=abcdefgh --addtag tiercel.made=cset vg0 /dev/md0 /dev/sdc",
            "modprobe bcache",
            f"make-bcache --cset-uuid {CSET} --bucket 512k -C /dev/vg0/s-abcdefgh",
            "echo /dev/vg0/s-abcdefgh > /sys/fs/bcache/register_quiet",
        ],
    ),
    (
        "cset.remove",
        {"vg": "vg0", "name": "s-abcdefgh", "cset_uuid": CSET},
        [
            f"echo 1 > /sys/fs/bcache/{CSET}/unregister",
            "wipefs -a -t bcache /dev/vg0/s-abcdefgh",
            "blkdiscard --zeroout --step 1MiB /dev/vg0/s-abcdefgh",
            "lvremove -y vg0/s-abcdefgh",
        ],
    ),
    (
        "cset.remove",
        {"vg": "vg0", "name": "s-abcdefgh"},
        [
            "wipefs -a -t bcache /dev/vg0/s-abcdefgh",
            "blkdiscard --zeroout --step 1MiB /dev/vg0/s-abcdefgh",
            "lvremove -y vg0/s-abcdefgh",
        ],
    ),
    (
        "bcache.format",
        VOLUME,
        [
            "modprobe bcache",
            "make-bcache --data-offset 8192 -B /dev/vg0/v-abcdefgh",
            "echo /dev/vg0/v-abcdefgh > /sys/fs/bcache/register_quiet",
            "lvchange --deltag tiercel.format=bcache vg0/v-abcdefgh",
        ],
    ),
    (
        "bcache.attach",
        {
            **VOLUME,
            "cset_uuid": CSET,
            "cache_mode": "writethrough",
            "sequential_cutoff_bytes": 4194304,
        },
        [
            f"echo 0 > /sys/fs/bcache/{CSET}/congested_read_threshold_us",
            f"echo 0 > /sys/fs/bcache/{CSET}/congested_write_threshold_us",
            f"echo writethrough > {SYSFS}/cache_mode",
            f"echo 4194304 > {SYSFS}/sequential_cutoff",
            f"echo {CSET} > {SYSFS}/attach",
        ],
    ),
    ("bcache.detach", {**VOLUME, "cset_uuid": CSET}, [f"echo 1 > {SYSFS}/detach"]),
    (
        "bcache.set",
        {
            **VOLUME,
            "cache_mode": "writeback",
            "sequential_cutoff_bytes": 0,
            "writeback_percent": 20,
        },
        [
            f"echo writeback > {SYSFS}/cache_mode",
            f"echo 0 > {SYSFS}/sequential_cutoff",
            f"echo 20 > {SYSFS}/writeback_percent",
        ],
    ),
    (
        "bcache.flush",
        {**VOLUME, "dirty_limit_bytes": 0, "writeback_percent": 10},
        [
            f"echo writethrough > {SYSFS}/cache_mode",
            f"echo 0 > {SYSFS}/writeback_percent",
            f"echo 1 > {SYSFS}/writeback_running",
            f"echo 10 > {SYSFS}/writeback_percent",
        ],
    ),
    (
        "bench.run",
        {**BENCH, "target": "lvmcache", "chunk_kib": 64},
        [
            f"lvcreate -y -Wy -Zy -n b-abcdefgh -L 67108864b {BENCH_TAGS} vg0 /dev/sdc",
            f"fio --name=layout {FIO}--randseed=7 --rw=write --bs=1048576 --iodepth=4 "
            "--output-format=terse --size=67108864",
            "lvcreate -y --type cache-pool --chunksize 64k -n b-abcdefgh-cache -L 16777216b "
            f"{BENCH_TAGS} vg0 /dev/md0",
            "lvconvert -y --type cache --cachepool vg0/b-abcdefgh-cache --cachemode writethrough "
            "--cachepolicy smq vg0/b-abcdefgh",
            "dmsetup status --noflush --target cache # it must be new",
            "blockdev --flushbufs /dev/vg0/b-abcdefgh",
            f"fio --name=measured {FIO}--randseed=7 --rw=randread --random_distribution=zipf:1.2 "
            "--norandommap=1 --bs=4096 --iodepth=4 --numjobs=1 --size=67108864 --time_based=1 "
            f"--runtime=60 --log_avg_msec=500 --write_iops_log={RESULT}/iops --log_hist_msec=1000 "
            f"--write_hist_log={RESULT}/hist --percentile_list=1:5:10:20:30:40:50:60:70:80:90:95:"
            f"99:99.5:99.9:99.95:99.99 --output-format=json+ --output={RESULT}/fio.json",
            "lvremove -y vg0/b-abcdefgh",
        ],
    ),
    ("bcache.stop", VOLUME, [f"echo 1 > {SYSFS}/stop"]),
    (
        "volume.count",
        {**VOLUME, "cache": "c-abcdefgh"},
        ["count which parts of /dev/vg0/v-abcdefgh are read"],
    ),
    (
        "cache.warm",
        {**VOLUME, "limit_seconds": 600},
        ["read what is read most of /dev/vg0/v-abcdefgh, past the page cache, writing nothing"],
    ),
]


@pytest.mark.parametrize(("verb", "args", "lines"), EXPECTED, ids=[row[0] for row in EXPECTED])
def test_the_commands_of_a_verb_are_exactly_these(
    verb: str, args: dict[str, Any], lines: list[str]
) -> None:
    assert [command.shell for command in commands(verb, args)] == lines


def test_every_mutating_verb_has_arguments_checks_and_an_expected_command() -> None:
    assert set(VERBS) == {row[0] for row in EXPECTED}


def test_a_bcache_volume_is_tagged_for_its_format_from_birth() -> None:
    first = commands("volume.create", {**NEW, "name": "v-abcdefgh", "layout": "bcache"})[0]
    assert "tiercel.format=bcache" in first.argv


def test_a_write_names_its_target_by_the_volume_and_not_by_a_number() -> None:
    (command,) = commands("bcache.stop", VOLUME)
    assert command.argv == ("write", "/sys/block/<vg0/v-abcdefgh>/bcache/stop", "1")


@pytest.mark.parametrize(("verb", "args", "lines"), EXPECTED, ids=[row[0] for row in EXPECTED])
def test_no_command_forces_anything(verb: str, args: dict[str, Any], lines: list[str]) -> None:
    for command in commands(verb, args):
        assert not {"-f", "--force", "-ff", "-Zn", "--removemissing"} & set(command.argv)
