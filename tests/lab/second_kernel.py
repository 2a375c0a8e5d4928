"""Another kernel of the lab's release, into which the machine restarts by itself (kexec), as after
an upgrade.

It is built once per recipe, on first use, and kept beside the image.
"""

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from tests.lab import image, kexec, mirror, recipe
from tests.lab.disks import Disk
from tests.lab.packages import LabUnavailable, Say, is_root, program
from tests.lab.vm import Lab, quiet

PACKAGES = ("linux-image-cloud-amd64", "initramfs-tools", "kmod", "udev")
"""A third of the usual kernel, with all that caches and arrays need."""
INSTALL_SECONDS = 300
# By a disk, which is a hundred times as fast as sshd without KVM.
CARRIERS = {"boot": Disk("boot", "LAB-CD", 0, 1), "modules": Disk("modules", "LAB-CD", 0, 1)}

# mmdebstrap names what it packs by the last part of its path.
FOLDERS = {"boot": "/", "modules": "/lib"}
INSTALL = "tar -x -C {folder} --keep-directory-symlink -f /dev/{name}"


def ensure(say: Say) -> dict[str, Path]:
    """Return the archives with /boot and the modules, building them first when the cache has none.
    Raises LabUnavailable."""
    wanted = recipe.read()
    folder = image.cache_folder() / wanted.digest
    archives = {name: folder / f"second-{name}.tar" for name in CARRIERS}
    with image.locked(image.cache_folder()):
        if not all(each.exists() for each in archives.values()):
            say(f"Building another kernel of {wanted.suite} (once per recipe, about a minute)")
            _build(wanted, archives)
    return archives


def _build(wanted: recipe.Recipe, archives: dict[str, Path]) -> None:
    with tempfile.TemporaryDirectory(prefix="tiercel-lab-") as name:
        work = Path(name)
        work.chmod(0o755)
        (work / "overlay.tar").write_bytes(wanted.overlay)
        done = subprocess.run(
            _command(wanted, work),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": image.path_with_sbin()},
        )
        if done.returncode != 0:
            raise LabUnavailable(f"mmdebstrap failed:\n{done.stderr[-2000:]}")
        for part, archive in archives.items():
            archive.parent.mkdir(parents=True, exist_ok=True)
            image.copy_sparse(work / f"{part}.tar", archive)


def _command(wanted: recipe.Recipe, work: Path) -> list[str]:
    quoted = shlex.quote(str(work))
    return [
        program("mmdebstrap"),
        f"--mode={'root' if is_root() else 'unshare'}",
        "--variant=minbase",
        "--format=null",
        f"--include={','.join(PACKAGES)}",
        "--dpkgopt=force-unsafe-io",
        *(f"--dpkgopt=path-exclude={path}" for path in wanted.excluded_paths),
        *(f"--aptopt={option}" for option in mirror.read_options()),
        *([f"--setup-hook={image.MERGE_USR}"] if wanted.merges_usr else []),
        f"--essential-hook=tar-in {quoted}/overlay.tar /",
        f"--customize-hook=tar-out /boot {quoted}/boot.tar",
        f"--customize-hook=tar-out /lib/modules {quoted}/modules.tar",
        wanted.suite,
        "-",
        *mirror.read_source_lines(wanted.suite),
    ]


def install(lab: Lab, say: Say = quiet) -> None:
    """Put the kernel on the machine, and load it for the next restart."""
    for part, archive in ensure(say).items():
        with lab.plugged(CARRIERS[part], archive) as name:
            unpack = INSTALL.format(folder=FOLDERS[part], name=name)
            lab.run(unpack, timeout_seconds=INSTALL_SECONDS)
    kexec.load(lab, "/boot/vmlinuz-*-cloud-*")


def restart_into(lab: Lab) -> str:
    """Restart as `systemctl kexec` does; what `uname -r` says then."""
    kexec.restart(lab)
    return lab.run(["uname", "-r"]).stdout.strip()
