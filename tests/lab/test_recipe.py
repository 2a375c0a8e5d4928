import io
import os
import shutil
import tarfile
from pathlib import Path

from tests.lab import recipe


def test_dates_do_not_change_the_digest_but_contents_and_modes_do(tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    shutil.copytree(recipe.FOLDER / "rootfs", folder / "rootfs")
    shutil.copy(recipe.FOLDER / "recipe.toml", folder)
    digest = recipe.read(folder).digest
    assert digest == recipe.read().digest

    hosts = folder / "rootfs/etc/hosts"
    os.utime(hosts, (0, 0))
    assert recipe.read(folder).digest == digest

    hosts.chmod(0o755)
    executable = recipe.read(folder).digest
    hosts.write_text("127.0.0.1 localhost\n")
    assert len({digest, executable, recipe.read(folder).digest}) == 3


def test_the_overlay_masks_units_and_belongs_to_root() -> None:
    with tarfile.open(fileobj=io.BytesIO(recipe.read().overlay)) as overlay:
        masked = overlay.getmember("etc/systemd/system/smartmontools.service")
        assert masked.linkname == "/dev/null"
        assert {(entry.uid, entry.gid) for entry in overlay} == {(0, 0)}
        assert overlay.getmember("usr/local/sbin/lab-keys").mode == 0o755
