"""`python -m tests.debian`: the Debian packages that the lab, the browser and the libvirt tests
need, and the lab's image, so that no test's time goes into building it."""

import os
import shutil
import subprocess
import sys

from tests.browsers import PROGRAMS, program
from tests.lab import image
from tests.lab.packages import LabUnavailable, install_packages

# 4 MB to fetch; they start no service.
LIBVIRT = {"libvirt-daemon": "libvirtd", "libvirt-clients": "virsh"}


def install_browser() -> None:
    """Install the first of the browsers that Debian has; Playwright's own build is not used. A
    machine that has the second keeps to it where the first cannot be had."""
    if shutil.which(PROGRAMS[0]):
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        if program() is None:
            print(f"The browser tests need {PROGRAMS[0]}. As root: apt-get install {PROGRAMS[0]}")
        return
    print("Installing a Debian package for the browser tests", flush=True)
    _apt("update")
    if not any(_apt("install", "-y", "--no-install-recommends", name) for name in PROGRAMS):
        sys.exit(f"apt-get has none of: {', '.join(PROGRAMS)}")


def install_libvirt() -> None:
    """Install what test_real_libvirt.py starts a libvirtd of its own with; it skips without."""
    lacking = [name for name, file in LIBVIRT.items() if shutil.which(file) is None]
    if not lacking or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    print("Installing Debian packages for the tests with libvirt", flush=True)
    _apt("update")
    if not _apt("install", "-y", "--no-install-recommends", *lacking):
        sys.exit(f"apt-get does not install: {', '.join(lacking)}")


def _apt(*arguments: str) -> bool:
    done = subprocess.run(
        ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300", *arguments],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode == 0


def say(line: str) -> None:
    """Show progress at once."""
    print(line, flush=True)


def main() -> int:
    """Install what is missing as root, else say what is; the tests that need it then skip."""
    try:
        install_packages(say)
        image.ensure(say)
    except LabUnavailable as error:
        print(error)
        if os.geteuid() == 0:
            return 1
    install_browser()
    install_libvirt()
    return 0


if __name__ == "__main__":
    sys.exit(main())
