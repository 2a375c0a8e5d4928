import io
import os
import shutil
import tarfile
from pathlib import Path

import pytest

from tests.lab import recipe
from tests.lab.packages import LabUnavailable

PLATFORMS = ("bookworm", "bullseye", "trixie")


@pytest.fixture(autouse=True)
def without_a_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLATFORM", raising=False)


def test_each_platform_has_an_image_of_its_own_and_bookworm_is_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert recipe.platforms() == PLATFORMS
    recipes = [recipe.read(platform=platform) for platform in PLATFORMS]
    assert [each.suite for each in recipes] == list(PLATFORMS)
    assert len({each.digest for each in recipes}) == len(PLATFORMS)
    assert recipe.read() == recipes[0]
    monkeypatch.setenv("PLATFORM", "trixie")
    assert recipe.read().suite == "trixie"


def test_a_platform_without_a_recipe_is_refused_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PLATFORM", "sarge")
    with pytest.raises(LabUnavailable, match=r"'sarge'.*bookworm, bullseye, trixie"):
        recipe.read()


def test_the_modules_left_out_are_those_of_debian_12_and_of_13() -> None:
    excluded = recipe.read().excluded_paths
    assert "/lib/modules/*/kernel/sound/*" in excluded
    assert "/usr/lib/modules/*/kernel/sound/*" in excluded


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


def test_an_image_that_is_built_in_another_way_is_another_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = recipe.read().digest
    builder = tmp_path / "image.py"
    builder.write_bytes(recipe.BUILDER.read_bytes())
    monkeypatch.setattr(recipe, "BUILDER", builder)
    assert recipe.read().digest == digest
    builder.write_text(builder.read_text() + "# and more\n")
    assert recipe.read().digest != digest
