"""The session of docs/api.md, run as it stands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from jobs.models import Job, State
from panel.operations.local_services import CHECKOUT
from storage.models import Host, Volume
from tests.integration.conftest import EMAIL
from tests.integration.machine import Machine
from tests.integration.person import ADD_CACHE_TRAIL, Person, argvs, finished, trail
from tests.integration.running import Running

DOCUMENT = CHECKOUT / "docs" / "api.md"
BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS = 300


def session() -> str:
    """Every command of the document, as one script that ends with the first that fails. What it
    writes down goes elsewhere than into the checkout."""
    blocks = BLOCK.findall(DOCUMENT.read_text())
    assert len(blocks) > 10
    token, rest = blocks[0], "\n".join(blocks[1:])
    return f'set -euo pipefail\ncd "{CHECKOUT}"\n{token}\ncd "$SCRATCH"\n{rest}'


@pytest.mark.thorough
def test_the_session_of_the_document_adds_a_cache_and_takes_it_off(
    machine: Machine, host: Host, person: Person, panel: Running, tmp_path: Path
) -> None:
    preview = person.new_volume(host, label="api session", size_mib=128, layout="plain")
    volume = finished(person.apply(preview)).volume
    bare = machine.lvs()
    bash = shutil.which("bash")
    assert bash
    environment = {
        **panel.environment,
        **{"PANEL": panel.url, "EMAIL": EMAIL, "VOLUME": volume.key, "SCRATCH": str(tmp_path)},
        "NO_PROXY": "localhost",
        "PATH": os.environ["PATH"],
    }
    try:
        done = subprocess.run(
            [bash, "-c", session()],
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        preview, *jobs = Job.objects.filter(volume=volume, origin="api").order_by("id")
        assert [(job.kind, job.state) for job in jobs] == [
            ("add-cache", State.SUCCEEDED),
            ("remove-cache", State.SUCCEEDED),
        ]
        assert (preview.dry_run, preview.state) == (True, State.SUCCEEDED)
        for argv in argvs(preview):
            assert argv[0] in done.stdout
        assert "api session" in done.stdout.splitlines()
        assert done.stdout.count(f"{jobs[0].key}\n") == 1
        assert "True" in done.stdout.splitlines()
        assert trail(jobs[0]) == ADD_CACHE_TRAIL
        assert jobs[0].actor is not None
        assert (jobs[0].actor.email, len(jobs[0].token)) == (EMAIL, 12)
        assert machine.lvs() == bare
    finally:
        # The lab's turn comes with the same name.
        Volume.objects.filter(pk=volume.pk).update(external_id="")
