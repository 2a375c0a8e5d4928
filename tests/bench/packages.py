"""Programs that figures are compared with, out of Debian's packages.

A package is fetched and unpacked below `var/bench` and not installed: installed, Debian would
start its server at once, on all addresses. So no one needs to be root but for `apt-get update`,
where the machine has no lists of packages yet.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from panel.operations.local_services import CHECKOUT

FOLDER: Final = CHECKOUT / "var" / "bench"


class NotHere(Exception):
    """Why a program is not on this machine, and how it gets there."""


def program(name: str, package: str, folder: str = "bin") -> Path:
    """The program, from PATH or from the unpacked package; raises `NotHere`."""
    unpacked = FOLDER / package / "usr" / folder / name
    on_path = shutil.which(name)
    if on_path is not None:
        return Path(on_path)
    if not unpacked.exists():
        _unpack(package)
    if not unpacked.exists():
        raise NotHere(f"Debian's package {package} has no {name}")
    return unpacked


def _unpack(package: str) -> None:
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise NotHere(f"{package} is compared with where there is Debian's apt-get, or in PATH")
    FOLDER.mkdir(parents=True, exist_ok=True)
    print(f"Fetching Debian's {package} (unpacked in {FOLDER.relative_to(CHECKOUT)})", flush=True)
    if not _run("apt-get", "download", package) and os.geteuid() == 0:
        _run("apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300", "update")
        _run("apt-get", "download", package)
    archives = sorted(FOLDER.glob(f"{package}_*.deb"))
    if not archives:
        raise NotHere(f"apt-get cannot download {package}: `apt-get update` as root, then again")
    if not _run("dpkg-deb", "--extract", str(archives[-1]), str(FOLDER / package)):
        raise NotHere(f"dpkg-deb does not unpack {archives[-1].name}")
    for archive in archives:
        archive.unlink()


def _run(*command: str) -> bool:
    done = subprocess.run(
        command,
        cwd=FOLDER,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode == 0
