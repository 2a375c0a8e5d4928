"""What an operator does to a volume in its life, by pages and by the API, while a guest holds it
wherever that is possible: what a preview showed is what the audit trail says was run."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
import uuid
from typing import Any

import pytest

from jobs.models import Job, State
from storage.models import Host, Volume
from tests.integration.confirmation import trail_of
from tests.integration.conftest import EMAIL
from tests.integration.machine import Machine
from tests.integration.person import MIB, Person, argvs, filled, finished
from tests.integration.running import Running

pytestmark = pytest.mark.parametrize("machine", ["fake"], indirect=True)
SECONDS = 240
MADE = re.compile(r"\b[cs]-[a-z2-7]{16}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TOKEN = ("token", EMAIL, "--name=operations", "--scopes=read,volumes:write", "--days=1")


class Client:
    """An automation client with a token of its own."""

    def __init__(self, panel: Running) -> None:
        self._url = panel.url
        self._token = panel.manage(*TOKEN).strip()

    def put(self, volume: Volume, wish: dict[str, Any], query: str) -> dict[str, Any]:
        """The job that the reply names, once it is over."""
        request = urllib.request.Request(
            f"{self._url}/api/v1/volumes/{volume.key}/wish?{query}",
            json.dumps(wish).encode(),
            {
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
                "Idempotency-Key": str(uuid.uuid4()),
            },
            method="PUT",
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=SECONDS) as reply:
                found: dict[str, Any] = json.load(reply)
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from None
        return found

    def wish(self, volume: Volume, wish: dict[str, Any]) -> Job:
        """Preview it, then have it: both say and do the same, but for the names of what is new."""
        preview, job = (
            finished(Job.objects.get(key=self.put(volume, wish, query)["key"]))
            for query in ("dry_run=true", "wait=30")
        )
        assert unnamed(preview) == unnamed(job)
        return same(job, job)


def unnamed(job: Job) -> list[str]:
    """The commands, with one word for each name or uuid that was made for the job."""
    return [MADE.sub("made", " ".join(argv)) for argv in argvs(job)]


def same(preview: Job, job: Job) -> Job:
    assert (job.state, job.error) == (State.SUCCEEDED, {})
    assert argvs(preview)
    assert argvs(preview) == argvs(job) == trail_of(job)
    return job


def by_page(person: Person, volume: Volume, action: str, **fields: str) -> Job:
    """Fill the form of the volume's page, see the preview, confirm it."""
    page = person.visitor.get(f"/volumes/{volume.key}/")
    preview = filled(person.visitor.send(page, f"/volumes/{volume.key}/{action}", **fields))
    assert (preview.state, preview.error) == (State.SUCCEEDED, {})
    return same(preview, person.apply_and_wait(preview))


def created(person: Person, host: Host, layout: str) -> Volume:
    preview = person.new_volume(host, label=f"{layout} life", size_mib=64, layout=layout)
    return person.apply_and_wait(preview).volume


def lv_of(person: Person, host: Host, volume: Volume) -> Any:
    person.refresh(host)
    assert host.inventory is not None
    placement = volume.placement_set.get()
    return placement.lv_uuid and host.inventory.lv(placement.lv_uuid)


def test_a_volume_grows_changes_its_cache_and_ends_by_pages(
    machine: Machine, host: Host, person: Person
) -> None:
    machine.world.allow(["vg0"], undo_hours=0)
    volume = created(person, host, "plain")
    before = machine.lvs() - {f"v-{volume.key}"}
    with machine.world.guest("web12", f"v-{volume.key}"):
        by_page(person, volume, "extend", size="128", unit="MiB")
        same(preview := person.add_cache(volume, 256), person.apply_and_wait(preview))
        page = person.visitor.get(f"/volumes/{volume.key}/cache/size")
        preview = filled(person.visitor.send(page, "/cache/size", size_bytes=str(512 * MIB)))
        same(preview, person.apply_and_wait(preview))
        lv = lv_of(person, host, volume)
        assert (lv.size_bytes, lv.cache.size_bytes) == (128 * MIB, 512 * MIB)
    person.refresh(host)
    by_page(person, volume, "retire")
    assert f"v-{volume.key}" not in machine.lvs()
    by_page(person, volume, "restore")
    assert f"v-{volume.key}" in machine.lvs()
    by_page(person, volume, "retire")
    person.prove()
    page = person.visitor.get(f"/volumes/{volume.key}/destroy")
    preview = filled(person.visitor.send(page, "/destroy", confirm_label=volume.label))
    same(preview, person.apply_and_wait(preview))
    assert machine.lvs() == before


@pytest.mark.parametrize("layout", ["plain", "bcache"])
def test_a_volume_changes_its_cache_by_the_api(
    machine: Machine, host: Host, person: Person, panel: Running, layout: str
) -> None:
    volume, client = created(person, host, layout), Client(panel)
    small, big = (64, 128) if layout == "plain" else (512, 768)
    writeback = {"size_bytes": big * MIB, "mode": "writeback"}
    with machine.world.guest("web12", f"v-{volume.key}"):
        client.wish(volume, {"cache": {"size_bytes": small * MIB, "mode": "writethrough"}})
        client.wish(volume, {"cache": writeback})
        lv = lv_of(person, host, volume)
        if layout == "plain":
            assert (lv.cache.size_bytes, lv.cache.mode) == (big * MIB, "writeback")
            client.wish(volume, {"cache": None, "tier": "ssd", "size_bytes": 128 * MIB})
            lv = lv_of(person, host, volume)
            assert lv.size_bytes == 128 * MIB
            assert set(lv.pvs) == {"md0"}
        else:
            assert lv.bcache.cache_mode == "writeback"
            client.wish(volume, {"cache": None})
            assert lv_of(person, host, volume).bcache.cset_uuid is None
