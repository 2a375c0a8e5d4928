"""The wheel of the command line: alone, without the panel's own packages."""

from __future__ import annotations

import ast
import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
import tomllib
import zipfile
from pathlib import Path

import pytest
from django.db import connections
from pytest_django.live_server_helper import LiveServer

from panel.cli import VERSION
from panel.cli.terminal import width_of
from panel.cli.top_command import ALTERNATE_SCREEN, HOME, MAIN_SCREEN, TO_END
from tests import make
from tests.cli_wheel import SOURCES, build
from tests.panel.cli.conftest import be
from tests.scene import scene

ALLOWED = {"click", "urllib3"}
SCREEN_SECONDS = 60
# What the wheel must do without, however it is asked for.
RUNNER = """
import signal
import sys

# As in a terminal, also where the tests run in the background of a shell, which ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"django", "celery", "panel", "jobs", "storage", "msgspec"}:
            raise AssertionError(f"{name} is imported")

sys.meta_path.insert(0, Refusing())
sys.path.insert(0, sys.argv.pop(1))
from tiercel_cli.__main__ import main
main()
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wheel"))


def test_it_imports_nothing_but_its_own_two_libraries() -> None:
    foreign = set()
    for path in SOURCES.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                foreign |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                foreign.add(str(node.module).partition(".")[0])
    assert foreign - sys.stdlib_module_names == ALLOWED


def test_it_has_every_module_and_asks_for_what_it_imports(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        text = archive.read(metadata).decode()
    assert {f"tiercel_cli/{path.name}" for path in SOURCES.glob("*.py")} <= names
    assert f"Version: {VERSION}" in text
    project = tomllib.loads((SOURCES / "pyproject.toml").read_text())["project"]
    assert {each.partition(">")[0] for each in project["dependencies"]} == ALLOWED


def test_it_runs_without_django(wheel: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", RUNNER, wheel, "--help"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "panels" in done.stdout


def test_on_a_real_terminal_without_colour_it_writes_no_escapes(
    wheel: Path, tmp_path: Path
) -> None:
    environment = {
        **{"PATH": os.environ["PATH"], "TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "80"},
        **{"TIERCEL_CLI_CONFIG": str(tmp_path / "none.toml"), "LANG": "C"},
    }
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-I", "-c", RUNNER, wheel, "volumes", "list"],
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        check=False,
    )
    os.close(theirs)
    text = os.read(ours, 65536).decode()
    os.close(ours)
    assert done.returncode == 2
    assert "No panel is chosen." in text and "\x1b" not in text


@pytest.mark.django_db(transaction=True)
def test_top_fills_the_terminal_and_leaves_it_as_it_was(
    wheel: Path, tmp_path: Path, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = scene(label="n" * 60)
    for _ in range(40):
        make.placement(make.volume(), there.host)
    token = be(make.staff_user(), live_server, monkeypatch)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", RUNNER, wheel, "top", "--every", "1"],
        env={
            **{"PATH": os.environ["PATH"], "TERM": "xterm", "LANG": "C.UTF-8"},
            **{"TIERCEL_URL": live_server.url, "TIERCEL_TOKEN": token},
        },
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    screens = ""
    try:
        end_at = time.monotonic() + SCREEN_SECONDS
        while screens.count(TO_END) < 2:
            assert time.monotonic() < end_at, screens
            screens += read_some(ours)
        process.send_signal(signal.SIGINT)
        while some := read_some(ours):
            screens += some
        assert process.wait(SCREEN_SECONDS) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        connections.close_all()
    assert screens.startswith(ALTERNATE_SCREEN) and screens.endswith(MAIN_SCREEN)
    first = screens.removeprefix(ALTERNATE_SCREEN).partition(TO_END)[0].removeprefix(HOME)
    lines = [line.removesuffix("\x1b[K") for line in first.split("\r\n")]
    assert lines[0].startswith("Volumes whose guests wait most, ")
    assert len(lines) <= 24 and max(map(width_of, lines)) <= 80
    assert not any("\x1b" in line for line in lines)


def read_some(file: int) -> str:
    """What there is; "" once the other side is closed."""
    try:
        return os.read(file, 65536).decode()
    except OSError:
        return ""
