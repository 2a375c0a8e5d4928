"""The lab's disks: two SSDs and two slow HDDs, and what is made of them after a boot."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.lab.monitor import Words

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Disk:
    """One virtio-scsi disk. Plain virtio disks all look rotational and have no name or serial."""

    serial: str
    product: str
    size_bytes: int
    rotation_rate: int
    iops_total: int | None = None

    def arguments(self, scsi_id: int, file: Path) -> list[str]:
        """Return the qemu arguments for this disk; `file` stays empty (snapshot=on)."""
        drive = (
            f"if=none,id={self.serial},file={_escaped(file)},format=raw,snapshot=on,discard=unmap"
        )
        if self.iops_total is not None:
            drive += f",throttling.iops-total={self.iops_total}"
        device = (
            f"scsi-hd,drive={self.serial},bus=scsi0.0,scsi-id={scsi_id},rotation_rate="
            f"{self.rotation_rate},serial={self.serial},product={self.product},vendor=TIERCEL"
        )
        return ["-drive", drive, "-device", device]

    def plug(self, file: Path, *, read_only: bool) -> tuple[Words, ...]:
        """Return the command of QEMU's monitor that adds this disk while the machine runs."""
        backing = {"driver": "file", "filename": str(file), "read-only": read_only}
        node = {"driver": "raw", "node-name": self.serial, "read-only": read_only}
        device = {"driver": "scsi-hd", "id": f"plugged-{self.serial}", "bus": "scsi0.0"}
        words = {"rotation_rate": self.rotation_rate, "serial": self.serial}
        return (
            ("blockdev-add", {**node, "file": backing}),
            (
                "device_add",
                {
                    **device,
                    **words,
                    "drive": self.serial,
                    "product": self.product,
                    "vendor": "TIERCEL",
                },
            ),
        )

    def pull(self) -> Words:
        """Return the command that removes such a disk."""
        return ("device_del", {"id": f"plugged-{self.serial}"})

    def forget(self) -> Words:
        """Return the command that closes the file afterwards."""
        return ("blockdev-del", {"node-name": self.serial})


# In the lab these are sda, sdb, sdc and sdd.
DISKS = (
    Disk("ssd0", "LAB-SSD", 4 * GIB, 1),
    Disk("ssd1", "LAB-SSD", 4 * GIB, 1),
    Disk("hdd0", "LAB-HDD", 8 * GIB, 7200, iops_total=300),
    Disk("hdd1", "LAB-HDD", 8 * GIB, 7200, iops_total=300),
)

# The kernel probes SCSI disks in parallel and hands out the letters as they finish. Where that was
# not the order of DISKS, take all away and add them again one at a time.
NAME_IN_ORDER = """
set -eu
serial() { lsblk -dno SERIAL "/dev/$1" 2>/dev/null || true; }
udevadm settle
if [ "$(serial sda) $(serial sdb) $(serial sdc) $(serial sdd)" != "ssd0 ssd1 hdd0 hdd1" ]; then
    adapter=$(dirname "$(grep -lx virtio_scsi /sys/class/scsi_host/*/proc_name)")
    for disk in /sys/block/sd*; do echo 1 > "$disk/device/delete"; done
    udevadm settle
    id=0
    for name in sda sdb sdc sdd; do
        echo "0 $id 0" > "$adapter/scan"
        for _ in $(seq 300); do [ -b "/dev/$name" ] && break; sleep 0.1; done
        id=$((id + 1))
    done
    udevadm settle
fi
"""

# --assume-clean and no bitmap: both members are empty, so there is nothing to copy, and a resync
# would share the disks with whatever is being measured.
MAKE_VG0 = """
mdadm --quiet --create /dev/md0 --level=1 --raid-devices=2 --assume-clean --bitmap=none \
    --metadata=1.2 --run /dev/sda /dev/sdb
vgcreate -qq vg0 /dev/md0 /dev/sdc /dev/sdd
"""


# The kernel's name of a disk, once it has one.
WAIT_FOR = """
for _ in $(seq 300); do
    name=$(lsblk -dno NAME,SERIAL | awk '$2 == "{serial}" {{ print $1 }}')
    [ -n "$name" ] && udevadm settle && echo $name && exit 0
    sleep 0.1
done
exit 1
"""


def make_files(folder: Path, those: Sequence[Disk] = DISKS) -> list[Path]:
    """Create the sparse backing files in `folder` and return them in the order of the disks."""
    files = []
    for disk in those:
        file = folder / f"{disk.serial}.raw"
        with file.open("wb") as empty:
            empty.truncate(disk.size_bytes)
        files.append(file)
    return files


def _escaped(file: Path) -> str:
    """A comma in a file name ends the value unless doubled."""
    return str(file).replace(",", ",,")
