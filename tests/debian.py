"""`python -m tests.debian`: the Debian packages that the lab and the browser tests need, and the
lab's image, so that no test's time goes into building it."""

import os
import shutil
import subprocess
import sys

from tests.lab import image
from tests.lab.packages import LabUnavailable, install_packages

BROWSER = "chromium"


def install_browser() -> None:
    """Install Debian's Chromium unless it is there; Playwright's own build is not used."""
    if shutil.which(BROWSER):
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        print(f"The browser tests need {BROWSER}. As root: apt-get install {BROWSER}")
        return
    print(f"Installing the Debian package {BROWSER} for the browser tests", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    wait = ["-o", "DPkg::Lock::Timeout=300"]
    for arguments in (["update"], ["install", "-y", "--no-install-recommends", BROWSER]):
        subprocess.run(
            ["apt-get", "-qq", *wait, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
        )


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
    return 0


if __name__ == "__main__":
    sys.exit(main())
