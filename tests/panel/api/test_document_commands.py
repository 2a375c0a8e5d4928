"""The commands of docs/api.md outside its session (`tests/integration` runs that on a storage host)
work as they stand, but for the keys that they are given."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connections
from django.utils import timezone
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from jobs import notify_workers
from jobs.models import Job, State
from tests.panel.api.asking import program, staff
from tests.panel.portal.shop import plan, shop
from tests.scene import scene

DOCUMENT = Path(settings.BASE_DIR) / "docs" / "api.md"
FUNCTIONS = re.compile(r"^```bash\n(api\(\) \{.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = BLOCK.findall(DOCUMENT.read_text())


@pytest.fixture(autouse=True)
def _workers(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that finds that all previews go."""
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True

    def previewed(pk: int) -> None:
        now = timezone.now()
        Job.objects.filter(pk=pk, dry_run=True).update(
            state=State.SUCCEEDED, started_at=now, ended_at=now
        )

    monkeypatch.setattr(notify_workers, "job", previewed)
    monkeypatch.setattr(notify_workers, "send", lambda task, *args, **kwargs: True)


def run(block: str, live_server: LiveServer, tmp_path: Path, monkeypatch: Any) -> str:
    monkeypatch.setattr(settings, "ALLOWED_HOSTS", ["*"])
    acme = shop()
    is_order = "/orders" in block
    asking = program(acme.owner) if is_order else staff("admin")
    volume = acme.volume if is_order else scene().volume
    [functions] = FUNCTIONS.findall(DOCUMENT.read_text())
    bash = shutil.which("bash")
    assert bash
    done = subprocess.run(
        [bash, "-c", f"set -euo pipefail\n{functions}\n{block}"],
        env={
            **{"PANEL": live_server.url, "TOKEN": asking.text, "PLAN": plan("Vast").key},
            **{"VOLUME": volume.key, "PATH": os.environ["PATH"], "NO_PROXY": "localhost"},
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    connections.close_all()
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("=")[0])
def test_documented_commands_work(
    block: str, live_server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(block, live_server, tmp_path, monkeypatch).strip()


def test_each_noun_that_is_made_by_a_program_has_its_commands() -> None:
    text = "\n".join(BLOCKS)
    for path in ("tokens", "volumes", "customers", "cache-plans"):
        assert f'-X POST "$PANEL/api/v1/{path}/' in text, path
    for part in ("/apply", '"retired"', "/mandate", "/rotate", "orders?dry_run=true", "/proofs/"):
        assert part in text, part
