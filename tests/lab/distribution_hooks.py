"""The initramfs hooks of the distribution, as real hosts run them: they start volume
groups, arrays and bcache devices before the root file system is there. The lab's image leaves them
out, so that it boots sooner.

They are fetched once per recipe, by whoever asks for them, and kept beside the image.
"""

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from tests.lab import image, mirror, recipe
from tests.lab.packages import LabUnavailable, Say, is_root, program
from tests.lab.vm import Lab, quiet

PACKAGES = ("bcache-tools", "lvm2", "mdadm", "thin-provisioning-tools")
FOLDER = "/usr/share/initramfs-tools"
HOOKS = ("bcache", "lvm2", "mdadm", "thin-provisioning-tools")
BUILD_SECONDS = 900
PACK = f'tar -C "$1{FOLDER.rpartition("/")[0]}" -c {FOLDER.rpartition("/")[2]}'
# The installer of a real machine writes its arrays down: else they have other names at the start.
BUILD = f"""
set -e
tar -x -C {FOLDER.rpartition("/")[0]}
cd {FOLDER}/hooks
chmod 755 {" ".join(HOOKS)}
cp /etc/mdadm/mdadm.conf /etc/mdadm/mdadm.conf.lab
mdadm --detail --scan >> /etc/mdadm/mdadm.conf
update-initramfs -c -k "$(uname -r)"
"""
REMOVE = f"""
set -e
systemctl disable -q --now tiercel-initramfs.path tiercel-initramfs.service
rm -f /etc/systemd/system/tiercel-initramfs.* /boot/initrd.img-* \\
    /etc/initramfs-tools/hooks/tiercel /etc/initramfs/post-update.d/tiercel
cd {FOLDER}/hooks
rm -f {" ".join(HOOKS)}
mv /etc/mdadm/mdadm.conf.lab /etc/mdadm/mdadm.conf
rm -rf /var/lib/tiercel/initramfs
"""


def ensure(say: Say) -> Path:
    """Return the archive of the hooks and scripts, fetching them first when the cache has none.
    Raises LabUnavailable."""
    wanted = recipe.read()
    archive = image.cache_folder() / wanted.digest / "distribution-hooks.tar"
    with image.locked(image.cache_folder()):
        if not archive.exists():
            say(f"Fetching the initramfs hooks of {wanted.suite} (once per recipe)")
            _fetch(wanted, archive)
    return archive


def _fetch(wanted: recipe.Recipe, archive: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="tiercel-lab-") as name:
        work = Path(name)
        work.chmod(0o755)
        done = subprocess.run(
            [
                program("mmdebstrap"),
                f"--mode={'root' if is_root() else 'unshare'}",
                "--variant=extract",
                "--format=null",
                f"--include={','.join(PACKAGES)}",
                *(f"--aptopt={option}" for option in mirror.read_options()),
                f"--extract-hook={PACK} > {shlex.quote(str(work))}/hooks.tar",
                wanted.suite,
                "-",
                *mirror.read_source_lines(wanted.suite),
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": image.path_with_sbin()},
        )
        if done.returncode != 0:
            raise LabUnavailable(f"mmdebstrap failed:\n{done.stderr[-2000:]}")
        archive.parent.mkdir(parents=True, exist_ok=True)
        image.copy_sparse(work / "hooks.tar", archive)


def install(lab: Lab, say: Say = quiet) -> None:
    """Put the hooks on the machine, and build its initramfs with them."""
    lab.run(BUILD, stdin=ensure(say).read_bytes(), timeout_seconds=BUILD_SECONDS)


def remove(lab: Lab) -> None:
    """Leave the machine as it was: with qemu's initramfs alone."""
    lab.run(REMOVE)
    lab.power_cycle()
