"""What befalls the disks and the connection of the lab's host, and its end: by root's hands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tests.integration.lab_machine import LabMachine
from tests.lab.disks import GIB, Disk
from tests.lab.vm import Lab
from tests.smart_disks import ata, attribute


def worried_disk(pending: int) -> str:
    """What smartctl prints of a disk with pending sectors."""
    rows = [
        attribute(5, "Reallocated_Sector_Ct", 0),
        attribute(197, "Current_Pending_Sector", pending),
        attribute(198, "Offline_Uncorrectable", 0),
    ]
    return json.dumps(ata("LAB-ATA-HDD", "PENDING1", rows, rotation_rpm=7200))


# smartctl itself, but for one disk.
SMARTCTL = """#!/bin/sh
case " $* " in *" -x "*" /dev/sdc "*) exec cat /run/worried-disk.json ;; esac
exec /usr/local/lib/real-smartctl "$@"
"""
COVER = """
set -e
cp /usr/sbin/smartctl /usr/local/lib/real-smartctl
mount --bind /usr/local/lib/other-smartctl /usr/sbin/smartctl
"""
LOSE = "mdadm --quiet --manage /dev/md0 --fail /dev/sdb"
GET_BACK = """
set -e
mdadm --quiet --manage /dev/md0 --remove /dev/sdb
mdadm --quiet --manage /dev/md0 --re-add /dev/sdb
mdadm --quiet --wait /dev/md0 || true
"""
MAKE_CACHED = """
set -e
modprobe scsi_debug dev_size_mb=200
udevadm settle
ssd=$(ls /sys/bus/pseudo/drivers/scsi_debug/adapter*/host*/target*/*/block)
# Volumes of earlier tests move to the other disk; status 5: there is none.
pvmove -qq /dev/sdd || test $? -eq 5
vgreduce -qq vg0 /dev/sdd
vgcreate -qq vgt /dev/sdd /dev/$ssd
lvcreate -qq -y -n mail -L 96m vgt /dev/sdd
lvcreate -qq -y --type cache-pool --poolmetadataspare n -n fast -L 96m vgt /dev/$ssd
lvconvert -qq -y --type cache --cachepool fast --cachemode {mode} vgt/mail
udevadm settle
# Until the first flush the kernel keeps a new cache's metadata to itself: a disk that goes before
# comes back with metadata that no check accepts.
dd if=/dev/zero of=/dev/vgt/mail bs=64k count=16 oflag=direct conv=fsync status=none
echo $ssd
"""
DELETE = "echo 1 > /sys/block/{ssd}/device/delete; udevadm settle"
# The same disk, with what was on it, as a new device: the tables still name the old one.
BRING_BACK = """
set -e
for each in /sys/bus/pseudo/drivers/scsi_debug/adapter*/host*/scsi_host/host*/scan; do
    echo '- - -' > $each
done
udevadm settle
for try in $(seq 50); do
    vgchange -qq -an vgt && break
    sleep 0.5
done
vgchange -qq -ay vgt
udevadm settle
ls /sys/bus/pseudo/drivers/scsi_debug/adapter*/host*/target*/*/block
"""
UNMAKE_CACHED = """
vgchange -qq -an vgt
vgremove -qq --force --force -y vgt
for each in $(dmsetup ls | awk '/^vgt-/ { print $1 }'); do
    dmsetup remove --force --retry $each
done
wipefs -qa /dev/sdd
pvscan -q --cache
pvcreate -qq -y /dev/sdd
vgextend -qq vg0 /dev/sdd
udevadm settle
modprobe -r scsi_debug
"""

# The kernel marks in the cache's own metadata how much of it is used. LVM gives every cache three
# times what it can ever need, so the metadata is made anew in a small part of its room. Suspending
# such a cache breaks it: its hints, a third of all, are written anew beside the old ones.
MAKE_SMALL_METADATA = """
set -e
vgcreate -qq vgm /dev/{ssd}
lvcreate -qq -y -n full -L 64m vgm
lvcreate -qq -y --type cache-pool --poolmetadataspare n -n tiny -L 3000m --chunksize 32k vgm
lvconvert -qq -y --type cache --cachepool tiny --cachemode writethrough vgm/full
for each in 1 2; do dmsetup suspend vgm-full; dmsetup resume vgm-full; done
used=$(dmsetup status --noflush vgm-full | awk '{{ split($5, share, "/"); print share[1] }}')
for part in tiny_cpool_cmeta tiny_cpool_cdata full_corig; do
    dmsetup table vgm-$part > /run/$part
done
set -- $(dmsetup table vgm-full)
length=$2 chunk=$7
vgchange -qq -an vgm
read first sectors linear device offset < /run/tiny_cpool_cmeta
blocks=$((used * 100 / {percent}))
dmsetup create by-hand-meta --table "0 $((blocks * 8)) linear $device $offset"
dd if=/dev/zero of=/dev/mapper/by-hand-meta bs=4k count=1 oflag=direct status=none
dmsetup create by-hand-data < /run/tiny_cpool_cdata
dmsetup create by-hand-origin < /run/full_corig
names="/dev/mapper/by-hand-meta /dev/mapper/by-hand-data /dev/mapper/by-hand-origin"
dmsetup create by-hand --table "0 $length cache $names $chunk 2 metadata2 writethrough smq 0"
dmsetup remove --retry by-hand
for each in meta data origin; do dmsetup remove --retry by-hand-$each; done
lvchange -qq -ay vgm/full
udevadm settle
dmsetup status --noflush vgm-full
"""
# As Tiercel's "Cache size" does: another cache, whose metadata is its own.
TAKE_ANOTHER_CACHE = """
set -e
lvconvert -qq -y --uncache vgm/full
lvcreate -qq -y --type cache-pool --poolmetadataspare n -n wide -L 1000m vgm
lvconvert -qq -y --type cache --cachepool wide --cachemode writethrough vgm/full
udevadm settle
"""
UNMAKE_SMALL_METADATA = """
vgchange -qq -an vgm
vgremove -qq --force --force -y vgm
udevadm settle
"""
MAKE_QUICK = """
set -e
lvcreate -qq -y -n slowly -L 96m vg0 /dev/sdc
lvcreate -qq -y --type cache-pool --poolmetadataspare n -n quick -L 32m vg0 /dev/md0
lvconvert -qq -y --type cache --cachepool quick --cachemode writeback vg0/slowly
udevadm settle
"""
DRAIN = "dmsetup message vg0-slowly 0 migration_threshold 2048"
UNMAKE_QUICK = "lvremove -qq -y vg0/slowly; udevadm settle"
SLOWLY = 400.0
SPARE_SSD = Disk("ssd9", "LAB-SSD", 6 * GIB, 1)


class CachedBySpare:
    """The SSD under a cache, which can be taken away as by `device_del`."""

    def __init__(self, lab: Lab, ssd: str) -> None:
        self._lab, self._ssd = lab, ssd

    def lose(self) -> None:
        self._lab.run(DELETE.format(ssd=self._ssd))

    def set_mode(self, mode: str) -> None:
        self._lab.run(["lvchange", "-qq", "-y", "--cachemode", mode, "vgt/mail"])

    def bring_back(self) -> None:
        self._ssd = self._lab.run(BRING_BACK, timeout_seconds=300).stdout.split()[-1]


class LabMishaps:
    def __init__(self, machine: LabMachine) -> None:
        self._lab, self._world = machine.lab, machine.world

    @contextmanager
    def ready(self) -> Iterator[None]:
        """A bitmap lets md0 take its disk back without copying all of it."""
        self._lab.run(["mdadm", "--quiet", "--grow", "--bitmap=internal", "/dev/md0"])
        self._lab.shell.write("/usr/local/lib/other-smartctl", SMARTCTL, 0o755)
        self.show_pending(0)
        self._lab.run(COVER)
        try:
            yield
        finally:
            # A restart has taken it away already.
            self._lab.run("umount -l /usr/sbin/smartctl", check=False)
            self._lab.run(["mdadm", "--quiet", "--grow", "--bitmap=none", "/dev/md0"], check=False)

    def lose_member(self) -> None:
        """A disk of md0 fails."""
        self._lab.run(LOSE)

    def get_member_back(self) -> None:
        """It is in the array again, as good as before."""
        self._lab.run(GET_BACK)

    def show_pending(self, sectors: int) -> None:
        """The disk sdc says of itself that so many sectors are pending."""
        self._lab.shell.write("/run/worried-disk.json", worried_disk(sectors))

    @contextmanager
    def writes_back_nothing(self) -> Iterator[None]:
        """A volume `vg0/slowly`, whose writeback cache keeps what its guest wrote to itself."""
        self._lab.run(MAKE_QUICK, timeout_seconds=SLOWLY)
        try:
            self._world.make_dirty("slowly")
            yield
        finally:
            self._lab.run(UNMAKE_QUICK, check=False)

    def drain(self) -> None:
        """It writes back as usual."""
        self._lab.run(DRAIN)

    @contextmanager
    def another_ssd(self) -> Iterator[str]:
        """A person plugs it in; its name."""
        with self._lab.plugged(SPARE_SSD) as name:
            try:
                yield name
            finally:
                self._lab.run(UNMAKE_SMALL_METADATA, check=False)

    def fill_metadata(self, ssd: str, percent: int) -> None:
        """A volume `vgm/full`, of whose cache's metadata so much is used."""
        print(
            self._lab.run(
                MAKE_SMALL_METADATA.format(ssd=ssd, percent=percent), timeout_seconds=SLOWLY
            ).stdout
        )

    def take_another_cache(self) -> None:
        """The volume has a cache with more room for metadata."""
        self._lab.run(TAKE_ANOTHER_CACHE, timeout_seconds=SLOWLY)

    def fall_silent(self) -> None:
        """The machine stands still: it answers no one."""
        self._lab.freeze()

    def speak(self) -> None:
        self._lab.thaw()

    @contextmanager
    def cached(self, mode: str) -> Iterator[CachedBySpare]:
        """A volume `vgt/mail`, whose cache lies on an SSD of memory that may be taken away."""
        ssd = self._lab.run(MAKE_CACHED.format(mode=mode), timeout_seconds=SLOWLY).stdout.split()[
            -1
        ]
        made = CachedBySpare(self._lab, ssd)
        try:
            yield made
        finally:
            self._lab.run(UNMAKE_CACHED, check=False)
