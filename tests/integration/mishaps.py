"""What befalls the disks and the connection of the lab's host, and its end: by root's hands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tests.integration.lab_machine import LabMachine
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
vgreduce -qq vg0 /dev/sdd
vgcreate -qq vgt /dev/sdd /dev/$ssd
lvcreate -qq -y -n mail -L 96m vgt /dev/sdd
lvcreate -qq -y --type cache-pool --poolmetadataspare n -n fast -L 96m vgt /dev/$ssd
lvconvert -qq -y --type cache --cachepool fast --cachemode {mode} vgt/mail
udevadm settle
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
        self._lab = machine.lab

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
            self._lab.run("umount -l /usr/sbin/smartctl")
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

    def fall_silent(self) -> None:
        """The machine stands still: it answers nobody."""
        self._lab.freeze()

    def speak(self) -> None:
        self._lab.thaw()

    @contextmanager
    def cached(self, mode: str) -> Iterator[CachedBySpare]:
        """A volume `vgt/mail`, whose cache lies on an SSD of memory that may be taken away."""
        ssd = self._lab.run(MAKE_CACHED.format(mode=mode)).stdout.split()[-1]
        made = CachedBySpare(self._lab, ssd)
        try:
            yield made
        finally:
            self._lab.run(UNMAKE_CACHED, check=False)
