"""Thin layers under the physical volumes of the lab, so that a disk can be broken while in use.

`layer NAME KIND` in the lab puts one of: linear (sound), error (dead), error_writes, drop_writes
(says that it wrote, and did not), slow (each read and write takes so many ms), slow_writes, hang
(suspended: every access waits in the kernel). The label of each physical volume lies 1 MiB
behind the beginning of its disk, so LVM never finds it below the layer.
"""

from __future__ import annotations

from tests.lab.vm import Lab

SSD, HDD, OTHER_HDD = "layer_ssd", "layer_hdd0", "layer_hdd1"
ALL = (SSD, HDD, OTHER_HDD)
PROGRAM = "/usr/local/sbin/layer"
UNIT = "/etc/systemd/system/layers.service"

SCRIPT = """#!/bin/bash
set -eu
under() {
    case $1 in
        layer_ssd) echo /dev/md0 ;;
        *) lsblk -dnpo NAME,SERIAL | awk -v serial="${1#layer_}" '$2 == serial { print $1 }' ;;
    esac
}
table() {
    disk=$(under "$1")
    size=$(($(blockdev --getsz "$disk") - 2048))
    case $2 in
        linear) echo "0 $size linear $disk 2048" ;;
        error) echo "0 $size error" ;;
        error_writes | drop_writes) echo "0 $size flakey $disk 2048 0 3600 1 $2" ;;
        slow) echo "0 $size delay $disk 2048 $3" ;;
        slow_writes) echo "0 $size delay $disk 2048 0 $disk 2048 $3" ;;
    esac
}
if [ "$1" = all ]; then
    for try in $(seq 600); do
        [ "$(lsblk -dno SERIAL | grep -cE '^(ssd|hdd)[01]$')" = 4 ] && break
        sleep 0.2
    done
    udevadm settle
    [ -b /dev/md0 ] || mdadm --quiet --assemble --scan || true
    for name in layer_ssd layer_hdd0 layer_hdd1; do
        [ -e /dev/mapper/$name ] || table $name linear | dmsetup create $name
    done
    udevadm settle
elif [ "$1" = heal ]; then
    sound=" $(dmsetup info -c --noheadings --separator ' ' -o name,suspended |
        awk '$2 == "Active" { printf "%s ", $1 }')"
    linear=" $(dmsetup ls --target linear | awk '{ printf "%s ", $1 }')"
    for name in layer_hdd0 layer_hdd1 layer_ssd; do
        case "$sound" in *" $name "*) case "$linear" in *" $name "*) continue ;; esac ;; esac
        "$0" $name linear
    done
elif [ "$2" = hang ]; then
    dmsetup suspend --noflush --nolockfs "$1"
else
    table "$@" | dmsetup load "$1"
    dmsetup suspend --nolockfs "$1"
    dmsetup resume "$1"
fi
"""

# After a restart the layers come before Tiercel's own unit, as the disks themselves would.
LAYERS_UNIT = f"""[Unit]
Before=tiercel-boot.service
After=systemd-udev-settle.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={PROGRAM} all
ExecStart=-/sbin/vgchange -q -ay vg0
[Install]
WantedBy=multi-user.target
"""

MAKE = """
set -eu
modprobe -a dm_flakey dm_delay bcache
[ -b /dev/md0 ] || mdadm --quiet --create /dev/md0 --level=1 --raid-devices=2 \
    --assume-clean --bitmap=none --metadata=1.2 --run /dev/sda /dev/sdb
mkdir -p /etc/mdadm
mdadm --detail --scan > /etc/mdadm/mdadm.conf
systemctl daemon-reload
systemctl enable -q layers.service
layer all
vgs -qq vg0 2> /dev/null ||
    vgcreate -qq vg0 /dev/mapper/layer_ssd /dev/mapper/layer_hdd0 /dev/mapper/layer_hdd1
sync
"""

# Everything on the disks is the last fault's and may be dropped.
SWEEP_OUT = """
layer heal
systemctl stop 'guest-*' 'load-*' 'check-*' 2>/dev/null
for program in /usr/sbin/make-bcache /usr/sbin/lvm; do
    while mountpoint -q $program; do umount -l $program; done
done
for each in /sys/block/dm-*/bcache/stop /sys/fs/bcache/*-*/stop; do
    [ -e "$each" ] && echo 1 > "$each"
done
exit 0
"""

IS_SOUND = """
set -eu
vgck vg0
[ "$(vgs --noheadings -o vg_missing_pv_count,lv_count vg0 | tr -d ' ')" = 00 ]
[ "$(pvs --noheadings -S vg_name=vg0 | wc -l)" = 3 ]
! ls -d /sys/block/bcache* 2>/dev/null
! dmsetup ls | grep -v '^layer_'
"""

REMAKE = """
set -eu
for try in 1 2 3; do
    for each in $(dmsetup ls | awk '!/^layer_/ && /^vg0-/ { print $1 }'); do
        dmsetup remove --force --retry "$each" || true
    done
done
for name in layer_ssd layer_hdd0 layer_hdd1; do
    dd if=/dev/zero of=/dev/mapper/$name bs=1M count=4 oflag=direct 2>/dev/null
done
pvscan -q --cache
vgcreate -qq vg0 /dev/mapper/layer_ssd /dev/mapper/layer_hdd0 /dev/mapper/layer_hdd1
! dmsetup ls | grep -v '^layer_'
"""


class Layers:
    """Root's hands on the disks of one lab."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def make(self) -> None:
        """On bare disks: /dev/md0, the layers, vg0."""
        self._lab.shell.write(PROGRAM, SCRIPT, 0o755)
        self._lab.shell.write(UNIT, LAYERS_UNIT)
        self._lab.run(MAKE, timeout_seconds=300)

    def put(self, name: str, kind: str, milliseconds: int | None = None) -> None:
        """Break a layer, or heal it (`linear`)."""
        words = [PROGRAM, name, kind]
        if milliseconds is not None:
            words.append(str(milliseconds))
        self._lab.run(words)

    def heal(self) -> None:
        self._lab.run([PROGRAM, "heal"])

    def sweep_out(self) -> None:
        """Close everything that holds a volume."""
        self._lab.run(SWEEP_OUT)

    def are_sound(self) -> bool:
        """Whether vg0 is whole and empty, and nothing stands on its disks."""
        return self._lab.run(IS_SOUND, check=False).returncode == 0

    def remake(self) -> bool:
        """A new, empty vg0; False where something is still in the way."""
        return self._lab.run(REMAKE, check=False, timeout_seconds=180).returncode == 0
