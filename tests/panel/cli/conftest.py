"""`tiercel` as a person runs it, at a panel of the tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from pytest_django.live_server_helper import LiveServer

from jobs.models import Job
from jobs.models.step import Line
from panel.cli import job_progress
from panel.cli.__main__ import run_command_line
from panel.models import User
from tests import make
from tests.panel.api.asking import program
from tests.scene import Scene, scene

VARIABLES = ("TIERCEL_URL", "TIERCEL_TOKEN", "TIERCEL_PANEL", "TIERCEL_CA_FILE", "NO_COLOR")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command wrote, and its exit code."""

    code: int
    out: str
    error: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Tiercel = Callable[..., Ran]
Meanwhile = Callable[..., None]


@pytest.fixture(autouse=True)
def own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of panels of the test's own, which is not there yet."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "tiercel" / "panels.toml"
    monkeypatch.setenv("TIERCEL_CLI_CONFIG", str(path))
    return path


@pytest.fixture
def tiercel(capsys: pytest.CaptureFixture[str]) -> Tiercel:
    def command(*arguments: str) -> Ran:
        capsys.readouterr()
        try:
            code = run_command_line(arguments)
        except SystemExit as ended:
            # So a shell's question for completions ends.
            code = int(ended.code or 0)
        out, error = capsys.readouterr()
        return Ran(code, out, error)

    return command


@pytest.fixture
def admin(live_server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[User]:
    """An admin, whose token and panel the variables name."""
    user = make.staff_user()
    be(user, live_server, monkeypatch)
    yield user
    connections.close_all()


@pytest.fixture
def there(admin: User) -> Scene:
    return scene(label="web12 disk", host={"name": "web1", "site": "Hel 1"})


def be(
    user: User,
    live_server: LiveServer,
    monkeypatch: pytest.MonkeyPatch,
    scopes: Sequence[str] = (),
) -> str:
    """Let the variables name a token of this person; returns it."""
    token = program(user, *scopes).text
    monkeypatch.setenv("TIERCEL_URL", live_server.url)
    monkeypatch.setenv("TIERCEL_TOKEN", token)
    return token


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """What happens at the panel between two looks at a job: one thing at each pause."""

    def let(*happenings: Callable[[], object]) -> None:
        rest = iter(happenings)

        def pause(seconds: float) -> None:
            next(rest, lambda: pytest.fail("it waits for ever"))()

        monkeypatch.setattr(job_progress, "sleep", pause)

    return let


def said(of: Job, *texts: str) -> None:
    """A job's next lines of output."""
    count = Line.objects.filter(job=of).count()
    Line.objects.bulk_create(
        Line(job=of, n=count + n + 1, text=text) for n, text in enumerate(texts)
    )
