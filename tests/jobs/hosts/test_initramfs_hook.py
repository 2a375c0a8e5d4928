"""What the enrolment installs for the initramfs, run by a shell as the distribution's tools do."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

ENROL = Path(__file__).parents[3] / "jobs" / "hosts" / "enrol.sh"
VERSION = "6.12.48+deb13-amd64"
RULES, LINKS = "etc/udev/rules.d/61-tiercel.rules", "etc/udev/rules.d/69-tiercel.rules"
FILTER, RECORDS = "etc/lvm/lvmlocal.conf", "var/lib/tiercel/initramfs"


def installed(at: Path, *folders: str) -> str:
    """Install below `at`, where the folders are there, with a systemctl that does nothing; what was
    said."""
    text = ENROL.read_text()
    functions = text[text.index("set -eu") : text.index("\nmain() {")]
    for name in ("URL", "AGENT_SHA256", "AGENT_PATH", "ACCOUNT", "PUBLIC_KEY", "MATCH_BLOCK"):
        functions = functions.replace(f"@{name}@", "/agent.pyz" if name == "AGENT_PATH" else "''")
    for folder in ("etc/systemd/system", "var/lib/tiercel", *folders):
        (at / folder).mkdir(parents=True)
    for path, content in ((RULES, "hide\n"), (LINKS, "links\n"), (FILTER, "filter\n")):
        (at / path).parent.mkdir(parents=True, exist_ok=True)
        (at / path).write_text(content)
    systemctl = at / "systemctl"
    systemctl.write_text("#!/bin/sh\n")
    systemctl.chmod(0o755)
    for path in ("/etc/", "/usr/lib/dracut", "/var/lib/tiercel/init"):
        functions = functions.replace(f"={path}", f"={at}{path}")
    ran = subprocess.run(
        ["/bin/sh"], input=f"{functions}\ninstall_initramfs\n", text=True, check=True,
        capture_output=True, env={"PATH": f"{at}:/usr/bin:/bin"},
    )  # fmt: skip
    return ran.stdout


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """As it is before our hook: with what the distribution's hooks copied on another day."""
    made = tmp_path / "image"
    (made / LINKS).parent.mkdir(parents=True)
    (made / LINKS).write_text("links\n")
    return made


def demand_hidden(at: Path, image: Path, record: str) -> None:
    copied = image / at.relative_to("/")
    assert (copied / RULES).read_text() == "hide\n"
    assert (copied / FILTER).read_text() == "filter\n"
    assert not (image / LINKS).exists(), "no line of it is run at a start"
    digest = hashlib.sha256(b"hide\nfilter\n").hexdigest()
    assert (at / RECORDS / record).read_text().strip() == digest


def test_an_image_of_initramfs_tools_hides_guests_and_is_recorded_once_written(
    tmp_path: Path, image: Path
) -> None:
    said = installed(tmp_path, "etc/initramfs-tools/hooks")
    assert "warning" not in said
    hook = str(tmp_path / "etc/initramfs-tools/hooks/tiercel")
    assert subprocess.run([hook, "prereqs"], check=True, capture_output=True).stdout == b""
    environment = {"PATH": "/usr/bin:/bin", "DESTDIR": str(image), "version": VERSION}
    subprocess.run([hook], check=True, env=environment)
    demand_hidden(tmp_path, image, f"{VERSION}.new")
    assert not (tmp_path / RECORDS / VERSION).exists(), "the image may yet fail"
    built = str(tmp_path / "etc/initramfs/post-update.d/tiercel")
    subprocess.run([built, VERSION, f"/boot/initrd.img-{VERSION}"], check=True)
    demand_hidden(tmp_path, image, VERSION)
    unit = (tmp_path / "etc/systemd/system/tiercel-initramfs.path").read_text()
    assert f"PathChanged={tmp_path}/{RULES}\nPathChanged={tmp_path}/{FILTER}\n" in unit


def test_an_image_of_dracut_hides_guests_and_is_recorded(tmp_path: Path, image: Path) -> None:
    installed(tmp_path, "usr/lib/dracut/modules.d")
    module = tmp_path / "usr/lib/dracut/modules.d/99tiercel/module-setup.sh"
    script = f"initdir={image}; kernel={VERSION}; . {module}; check && install"
    subprocess.run(["/bin/bash", "-euc", script], check=True)
    demand_hidden(tmp_path, image, VERSION)


def test_a_host_that_builds_no_initramfs_gets_no_hook(tmp_path: Path) -> None:
    assert installed(tmp_path) == ""
    assert not (tmp_path / "etc/systemd/system/tiercel-initramfs.service").exists()
