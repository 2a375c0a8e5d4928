"""What is on the storage host before Tiercel comes: volumes, guests and a cache made by hand."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024**2
VG = "vg0"


@dataclass(frozen=True, slots=True)
class Tenant:
    """A volume made by hand on the physical volume `pv`, and the guest that holds it ("" = none)
    and reads at most `read_iops` from it. `cache_mib` of writeback cache on the SSD, 0 for none."""

    lv: str
    pv: str
    size_mib: int
    guest: str = ""
    read_iops: int = 0
    cache_mib: int = 0

    @property
    def device(self) -> str:
        return f"/dev/{VG}/{self.lv}"

    def commands(self) -> list[list[str]]:
        """What root typed at the time."""
        made = [["lvcreate", "-y", "-Wy", "-Zy", "-n", self.lv, *_size(self.size_mib), VG, self.pv]]
        if self.cache_mib:
            pool = f"{self.lv}-cache"
            made += [
                ["lvcreate", "-y", "--type", "cache-pool", "-n", pool, *_size(self.cache_mib),
                 "--chunksize", "64k", VG, "/dev/md0"],
                ["lvconvert", "-y", "--type", "cache", "--cachepool", f"{VG}/{pool}",
                 "--cachemode", "writeback", "--cachepolicy", "smq",
                 "--cachesettings", "migration_threshold=2048", f"{VG}/{self.lv}"],
            ]  # fmt: skip
        return made


def _size(mib: int) -> tuple[str, str]:
    return "-L", f"{mib * MIB}b"


TENANTS = (
    Tenant("mail1-disk", "/dev/sdc", 128, "mail1", 20),
    Tenant("shop3-disk", "/dev/sdd", 128, "shop3"),
    Tenant("crm2-data", "/dev/sdd", 192, "crm2", 20, 256),
)
