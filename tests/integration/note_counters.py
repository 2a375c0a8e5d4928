"""Runs inside the lab: writes the kernel's counters down, twice a second, until it is stopped.

Arguments: dm name, kernel name of what the guest reads, kernel name of the LV, file. A line is
uptime, sectors read of both, and `dmsetup status`. Standard library only, Python 3.9 or later.
"""

import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    name, front, back, file = sys.argv[1:]
    with Path(file).open("w", buffering=1) as notes:
        while True:
            at = Path("/proc/uptime").read_text().split()[0]
            disks = Path("/proc/diskstats").read_text().splitlines()
            # Documentation/admin-guide/iostats.rst: the sixth column counts sectors read.
            sectors = {words[2]: words[5] for words in map(str.split, disks)}
            argv = ["dmsetup", "status", "--noflush", name]
            status = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
            print(at, sectors[front], sectors[back], status.strip(), file=notes)
            time.sleep(0.5)


if __name__ == "__main__":
    main()
