"""`python -m tests.debian`: the Debian packages that the lab, the browser, libvirt and PHP tests
need, and the lab's image, so that no test's time goes into building it."""

import os
import shutil
import subprocess
import sys

from tests import real_disks
from tests.bench.packages import NotHere
from tests.bench.packages import program as unpacked
from tests.browsers import PROGRAMS, program
from tests.lab import image
from tests.lab.packages import LabUnavailable, install_packages

# 4 MB to fetch; they start no service.
LIBVIRT = {"libvirt-daemon": "libvirtd", "libvirt-clients": "virsh"}

# 3 MB to fetch. php-curl is no program: it comes with the other.
PHP = {"php-cli": "php", "php-curl": "php"}


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


def install_tools(what_for: str, packages: dict[str, str]) -> None:
    """Install packages, each of which is lacking where its program is not there: libvirt for
    test_real_libvirt.py, PHP for test_whmcs.py. These tests skip without."""
    lacking = [name for name, file in packages.items() if shutil.which(file) is None]
    if not lacking or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    print(f"Installing Debian packages for the tests with {what_for}", flush=True)
    _apt("update")
    if not _apt("install", "-y", "--no-install-recommends", *lacking):
        sys.exit(f"apt-get does not install: {', '.join(lacking)}")


def fetch_promtool() -> None:
    """Unpack what test_metrics_endpoint.py checks metrics and rules with: 19 MB to fetch, no server
    is installed. It skips without."""
    try:
        unpacked("promtool", "prometheus")
    except NotHere as why:
        print(f"The metrics are not checked with promtool: {why}")


def fetch_real_disks() -> None:
    """1 MB, for test_real_disks.py. It skips what cannot be had."""
    try:
        real_disks.fetch()
    except NotHere as why:
        print(f"Some reports of real disks are not read: {why}")


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
    install_tools("libvirt", LIBVIRT)
    install_tools("PHP", PHP)
    fetch_promtool()
    fetch_real_disks()
    return 0


if __name__ == "__main__":
    sys.exit(main())
