"""The session of docs/cli.md, which is that of docs/api.md, run as it stands with the wheel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.models import Job, State
from panel.operations.local_services import CHECKOUT
from storage.models import Host, Volume
from tests.cli_wheel import build
from tests.integration.conftest import EMAIL
from tests.integration.machine import Machine
from tests.integration.person import ADD_CACHE_TRAIL, Person, argvs, finished, trail
from tests.integration.running import Running
from tests.integration.test_api_document import BLOCK

DOCUMENT = CHECKOUT / "docs" / "cli.md"
SECONDS = 300


def session(scratch: Path) -> str:
    """Every command of the document, as one script that ends with the first that fails."""
    blocks = BLOCK.findall(DOCUMENT.read_text())
    assert len(blocks) > 8
    token, rest = blocks[0], "\n".join(blocks[1:])
    return f'set -euo pipefail\ncd "{CHECKOUT}"\n{token}\ncd "{scratch}"\n{rest}'


def installed(folder: Path) -> Path:
    """A folder with the program `tiercel`, which is the wheel's."""
    wheel, program = build(folder), folder / "tiercel"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH="{wheel}" exec "{sys.executable}" -m tiercel_cli "$@"\n'
    )
    program.chmod(0o755)
    return folder


@pytest.mark.thorough
def test_the_session_of_the_document_adds_a_cache_and_takes_it_off(
    machine: Machine, host: Host, person: Person, panel: Running, tmp_path: Path
) -> None:
    preview = person.new_volume(host, label="cli session", size_mib=128, layout="plain")
    volume = finished(person.apply(preview)).volume
    assert volume is not None
    bare = machine.lvs()
    bash = shutil.which("bash")
    assert bash
    environment = {
        **panel.environment,
        **{"PANEL": panel.url, "EMAIL": EMAIL, "VOLUME": volume.key},
        "TIERCEL_CLI_CONFIG": str(tmp_path / "panels.toml"),
        "PATH": f"{installed(tmp_path)}{os.pathsep}{os.environ['PATH']}",
    }
    try:
        done = subprocess.run(
            [bash, "-c", session(tmp_path)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        made = Job.objects.filter(volume=volume, origin="api").order_by("id")
        assert {job.state for job in made} == {State.SUCCEEDED}
        added, removed = made.filter(dry_run=False)
        assert (added.kind, removed.kind) == ("add-cache", "remove-cache")
        first, *_ = made.filter(dry_run=True)
        for argv in argvs(first):
            assert argv[0] in done.stdout
        assert "cli session" in done.stdout
        assert "there is nothing to do" in done.stdout
        assert f"Job {removed.key}: succeeded" in done.stdout
        assert trail(added) == ADD_CACHE_TRAIL
        assert added.actor is not None and added.actor.email == EMAIL
        assert machine.lvs() == bare
    finally:
        # The lab's turn comes with the same name.
        Volume.objects.filter(pk=volume.pk).update(external_id="")


def test_both_documents_show_the_same_session() -> None:
    """What one does by curl, the other does by `tiercel`."""
    api, cli = ((CHECKOUT / "docs" / name).read_text() for name in ("api.md", "cli.md"))
    steps = {
        '"$PANEL/api/v1/"': "whoami",
        "volumes/?state=managed": "volumes list --state managed",
        '"external_id": "vps-1012"': "--external-id vps-1012",
        "dry_run=true&wait=30": "cache plan vps-1012",
        "Idempotency-Key: $KEY": "cache apply",
        "If-Match: $VERSION": "--if-match",
        "/lines?cursor=0": "jobs lines",
        "/series?points=": "volumes series",
        '{"cache": null}': "cache remove",
        "/audit/?volume=": "audit --volume",
    }
    for by_curl, by_tiercel in steps.items():
        assert by_curl in " ".join(BLOCK.findall(api)), by_curl
        assert by_tiercel in " ".join(BLOCK.findall(cli)), by_tiercel
    assert re.search(r"\]\(api\.md\)", cli)
