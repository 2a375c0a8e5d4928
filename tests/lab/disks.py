"""The lab's disks: two SSDs and two slow HDDs, and what is made of them after a boot."""

from dataclasses import dataclass
from pathlib import Path

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


# The kernel finds them in this order: sda, sdb, sdc, sdd.
DISKS = (
    Disk("ssd0", "LAB-SSD", 4 * GIB, 1),
    Disk("ssd1", "LAB-SSD", 4 * GIB, 1),
    Disk("hdd0", "LAB-HDD", 8 * GIB, 7200, iops_total=300),
    Disk("hdd1", "LAB-HDD", 8 * GIB, 7200, iops_total=300),
)

# --assume-clean and no bitmap: both members are empty, so there is nothing to copy, and a resync
# would share the disks with whatever is being measured.
SETUP = """
set -eu
disk() { echo "/dev/$(lsblk -dno NAME,SERIAL | awk -v s="$1" '$2 == s { print $1 }')"; }
mdadm --quiet --create /dev/md0 --level=1 --raid-devices=2 --assume-clean --bitmap=none \
    --metadata=1.2 --run "$(disk ssd0)" "$(disk ssd1)"
pvs=$(echo /dev/md0 "$(disk hdd0)" "$(disk hdd1)")
pvcreate -qq $pvs
vgcreate -qq vg0 $pvs
"""


def make_files(folder: Path) -> list[Path]:
    """Create the sparse backing files in `folder` and return them in the order of DISKS."""
    files = []
    for disk in DISKS:
        file = folder / f"{disk.serial}.raw"
        with file.open("wb") as empty:
            empty.truncate(disk.size_bytes)
        files.append(file)
    return files


def _escaped(file: Path) -> str:
    """A comma in a file name ends the value unless doubled."""
    return str(file).replace(",", ",,")
