"""The initramfs hooks of the distribution, as real hosts run them: they start volume
groups, arrays and bcache devices before the root file system is there. The lab's image leaves them
out, so that it boots sooner.

They are fetched once per recipe, on first use, and kept beside the image.
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
# As on a machine whose root file system is on such disks: the image has their drivers, knows the
# array by its name, and waits for the group.
BUILD = f"""
set -e
tar -x -C {FOLDER.rpartition("/")[0]}
cd {FOLDER}/hooks
chmod 755 {" ".join(HOOKS)}
mdadm --detail --scan >> /etc/mdadm/mdadm.conf
cd /etc/initramfs-tools
printf '%s\\n' virtio_scsi sd_mod >> modules
mkdir -p scripts/local-top
cat > scripts/local-top/lab <<'SCRIPT'
#!/bin/sh
[ "$1" = prereqs ] && exit 0
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ -d /dev/vg0 ] && break
    sleep 1
done
for try in 1 2 3; do
    udevadm settle
    sleep 1
done
SCRIPT
chmod 755 scripts/local-top/lab
update-initramfs -c -k "$(uname -r)"
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
