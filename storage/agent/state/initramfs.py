"""Whether the initial ramdisks of this host hide guests' disks as its own system does.

An initramfs has copies of udev's rules and of LVM's filter from the day when it was built, and
starts groups, arrays and bcache devices by them before the root file system is there. A hook of
ours (jobs/hosts/enrol.sh) copies both files into each image, keeps the rules with the links of
volumes out of it, and records the digest of what it copied once the image is written.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from ..calls.refusals import Problem, problem
from ..guests import hiding
from ..kernel.local_host import LocalHost, MissingTool
from .policy import AGENT

COMMAND = f"{AGENT} renew-initramfs"
RECORDS = "/var/lib/tiercel/initramfs"
# Our hook, and the command that builds every image anew where it is installed.
BUILDERS = {
    "/etc/initramfs-tools/hooks/tiercel": ("update-initramfs", "-u", "-k", "all"),
    "/usr/lib/dracut/modules.d/99tiercel/module-setup.sh": ("dracut", "-f", "--regenerate-all"),
}
_IMAGE = re.compile(r"initrd\.img-(?P<debian>.+)|initramfs-(?P<dracut>.+)\.img")


def digest(host: LocalHost) -> str:
    """Of what an initramfs has to have, as the hook computes it."""
    copied = [host.read(path) or b"" for path in (hiding.PATH, hiding.LOCAL)]
    return hashlib.sha256(b"".join(copied)).hexdigest()


def stale(host: LocalHost) -> list[str]:
    """Versions of the kernels whose initramfs was built with other rules or another filter, or
    without the hook."""
    matches = (_IMAGE.fullmatch(name) for name in host.list("/boot"))
    versions = sorted(match["debian"] or match["dracut"] for match in matches if match)
    wanted = digest(host).encode()
    return [
        version
        for version in versions
        # Not the image of a kernel that is gone, nor a copy that was kept by hand.
        if host.exists(f"/lib/modules/{version}")
        and (host.read(f"{RECORDS}/{version}") or b"").strip() != wanted
    ]


def renew_initramfs(host: LocalHost) -> tuple[list[str], list[str]]:
    """(what was done, what failed), one sentence each; nothing is run where no image is stale."""
    if not stale(host):
        return [], []
    builders = [command for hook, command in BUILDERS.items() if host.exists(hook)]
    if not builders:
        return [], [f"{each['message']} {each['correction']}" for each in initramfs_problems(host)]
    done: list[str] = []
    failed: list[str] = []
    for command in builders:
        words = " ".join(command)
        try:
            result = host.run(command, timeout=None)
        except MissingTool:
            failed.append(f"{words}: {command[0]} is not installed.")
            continue
        if result.rc:
            failed.append(f"{words} failed: {(result.stderr or result.stdout).strip()[-300:]}")
        else:
            done.append(words)
    failed += [f"The initramfs of {version} is still not up to date." for version in stale(host)]
    return done, failed


def initramfs_problems(host: LocalHost) -> Iterable[Problem]:
    """An initramfs that would start what a guest wrote to its disk."""
    versions = stale(host)
    if versions:
        has_hook = any(host.exists(hook) for hook in BUILDERS)
        yield problem(
            "initramfs_stale",
            "error",
            f"The initramfs of {', '.join(versions)} does not hide guests' disks as this host "
            "does: at a restart it may start volume groups, arrays and bcache devices of guests.",
            f"As root on the host run: {COMMAND}"
            if has_hook
            else "Create a new enrolment command (manage.py enrol) and run it on the host: it "
            "installs the hook for the initramfs and builds it anew.",
        )
