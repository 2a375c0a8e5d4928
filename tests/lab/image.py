"""Builds the lab's image with mmdebstrap, once per recipe, into a cache folder."""

import fcntl
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.lab import mirror, recipe
from tests.lab.packages import LabUnavailable, Say, install_packages, is_root, program

CHECKOUT = Path(__file__).parents[2]
# As debootstrap does.
MERGE_USR = (
    'cd "$1" && for each in bin sbin lib lib64; do mkdir -p usr/$each; ln -s usr/$each; done'
)
PARTS = ("root.ext2", "vmlinuz", "initrd.img")


@dataclass(frozen=True, slots=True)
class Image:
    """The files a boot needs, all read-only: the lab boots them with snapshot=on."""

    root: Path
    kernel: Path
    initrd: Path


def cache_folder() -> Path:
    """Return where images are kept: TIERCEL_LAB_CACHE, else var/lab/images of this checkout."""
    chosen = os.environ.get("TIERCEL_LAB_CACHE")
    return Path(chosen) if chosen else CHECKOUT / "var" / "lab" / "images"


def ensure(say: Say) -> Image:
    """Return the image of the present recipe, building it first when the cache has none.

    Installs missing Debian packages when root. Raises LabUnavailable with what to do otherwise.
    """
    install_packages(say)
    wanted = recipe.read()
    folder = cache_folder() / wanted.digest
    with locked(cache_folder()):
        if not all((folder / part).exists() for part in PARTS):
            say(f"Building the lab's image of {wanted.suite} (once per recipe, about a minute)")
            _build(wanted, folder)
    return Image(*(folder / part for part in PARTS))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Two boots that find no image must not build it twice."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(wanted: recipe.Recipe, folder: Path) -> None:
    # In unshare mode another user id writes the parts, so they are made in a folder that all may
    # enter, and only a complete image gets its name.
    with tempfile.TemporaryDirectory(prefix="tiercel-lab-") as name:
        work = Path(name)
        work.chmod(0o755)
        (work / "overlay.tar").write_bytes(wanted.overlay)
        log = folder.with_suffix(".log")
        with log.open("wb") as output:
            done = subprocess.run(
                _command(wanted, work),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PATH": path_with_sbin()},
            )
        if done.returncode != 0:
            tail = log.read_text(errors="replace")[-2000:]
            raise LabUnavailable(f"mmdebstrap failed (whole log: {log}):\n{tail}")
        _grow(work / "root.ext2", wanted.size_bytes)
        folder.mkdir(parents=True, exist_ok=True)
        for part in PARTS:
            copy_sparse(work / part, folder / part)


def _command(wanted: recipe.Recipe, work: Path) -> list[str]:
    quoted = shlex.quote(str(work))
    return [
        program("mmdebstrap"),
        f"--mode={'root' if is_root() else 'unshare'}",
        "--variant=minbase",
        "--format=ext2",
        f"--include={','.join(wanted.packages)}",
        "--dpkgopt=force-unsafe-io",
        *(f"--dpkgopt=path-exclude={path}" for path in wanted.excluded_paths),
        *(f"--aptopt={option}" for option in mirror.read_options()),
        *([f"--setup-hook={MERGE_USR}"] if wanted.merges_usr else []),
        f"--essential-hook=tar-in {quoted}/overlay.tar /",
        '--customize-hook=chroot "$1" systemctl -q enable systemd-networkd ssh lab-keys',
        '--customize-hook=chroot "$1" systemctl -q set-default multi-user.target',
        '--customize-hook=rm -f "$1"/etc/ssh/ssh_host_* "$1"/etc/resolv.conf',
        # A restart with the same machine-id would look like the same host to the panel.
        '--customize-hook=: > "$1/etc/machine-id"',
        f"--customize-hook=download /vmlinuz {quoted}/vmlinuz",
        f"--customize-hook=download /initrd.img {quoted}/initrd.img",
        # QEMU has it. One in the machine would be made anew at each enrolment, for minutes.
        '--customize-hook=rm -f "$1"/boot/initrd.img-*',
        wanted.suite,
        str(work / "root.ext2"),
        *mirror.read_source_lines(wanted.suite),
    ]


def _grow(root: Path, size_bytes: int) -> None:
    """Give the file system room to work, and a journal, so that it is whole after a power cut;
    the file stays sparse."""
    os.truncate(root, size_bytes)
    for command in (
        ["e2fsck", "-fp", str(root)],
        ["resize2fs", str(root)],
        ["tune2fs", "-O", "has_journal", str(root)],
    ):
        done = subprocess.run([program(command[0]), *command[1:]], capture_output=True, text=True)
        # e2fsck says 1 for "errors corrected", which a fresh genext2fs image may have.
        if done.returncode not in (0, 1):
            raise LabUnavailable(f"{shlex.join(command)} failed: {done.stdout}{done.stderr}")


def copy_sparse(source: Path, target: Path) -> None:
    partial = target.with_suffix(".partial")
    subprocess.run(["cp", "--sparse=always", str(source), str(partial)], check=True)
    partial.rename(target)


def path_with_sbin() -> str:
    return os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))


def remove() -> None:
    """Forget every cached image."""
    shutil.rmtree(cache_folder(), ignore_errors=True)
