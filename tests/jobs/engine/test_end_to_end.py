"""Whole jobs against the fake host: its SSH server, the real agent's code, the model of LVM."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.utils import timezone

from jobs.engine import runner
from jobs.hosts import contact
from jobs.hosts.refresh import refresh
from jobs.models import AuditEntry, Job, Kind, Origin, Phase, State
from jobs.problems import problems_of
from jobs.queue.leave_writeback import leave_due
from jobs.queue.submit import ChangeRequest, submit
from jobs.requester import Requester
from jobs.transport import new_key_pair
from jobs.transport.key_encryption import seal
from storage.byte_sizes import GIB
from storage.models import Host, Placement, Volume
from storage.naming import cache_device_name, new_key, pool_name, volume_name
from storage.planner import Refused
from storage.planner.wish import Bcache, LvmCache, Wish
from tests import make
from tests.fake.fixtures import fake_host, fake_server, make_fake_host
from tests.fake.host import FakeHost
from tests.fake.server import FakeServer

__all__ = ["fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db
CSET = "6a7c1e4e-1b57-4c0e-8a53-90e54ab1c0aa"


@pytest.fixture
def enrolled(fake_server: FakeServer) -> Host:
    """The fake host as an active host with fresh facts."""
    private_key, public_key = new_key_pair()
    fake_server.authorize(public_key)
    host = make.host(
        port=fake_server.port,
        host_key=fake_server.host_key,
        sealed_key=seal(private_key),
        machine_id=fake_server.host.machine.machine_id,
    )
    assert refresh(host), host.error
    host.refresh_from_db()
    return host


def new_volume(host: Host, layout: str = "plain") -> Volume:
    volume = make.volume(size_bytes=GIB, layout=layout)
    assert host.inventory is not None
    vg = host.inventory.vgs[0]
    Placement.objects.create(
        volume=volume,
        host=host,
        vg_name=vg.name,
        vg_uuid=vg.uuid,
        lv_name=volume_name(volume.key),
    )
    return volume


def done(kind: Kind, volume: Volume, wish: Wish, *, dry_run: bool = False) -> Job:
    job = submit(ChangeRequest(kind, volume, wish, dry_run=dry_run), Requester(None))
    for _ in range(20):
        Job.objects.filter(pk=job.pk).update(not_before=None)
        runner.run(job.pk)
        job.refresh_from_db()
        if job.is_over:
            break
    volume.refresh_from_db()
    return job


def commands(job: Job) -> list[str]:
    return [command["shell"] for step in job.step_set.all() for command in step.commands]


def caches() -> list[tuple[str, Wish, Wish]]:
    """Technology, the wish with a cache, and the same with another mode."""
    key = new_key()
    pool, device = pool_name(key), cache_device_name(key)
    return [
        (
            "plain",
            Wish(GIB, cache=LvmCache(pool, GIB, "writethrough")),
            Wish(GIB, cache=LvmCache(pool, GIB, "writeback")),
        ),
        (
            "bcache",
            Wish(GIB, layout="bcache", cache=Bcache(device, CSET, GIB, "writethrough")),
            Wish(GIB, layout="bcache", cache=Bcache(device, CSET, GIB, "writeback")),
        ),
    ]


@pytest.mark.parametrize(("layout", "cached", "other"), caches(), ids=["lvmcache", "bcache"])
def test_a_volume_is_created_cached_changed_and_uncached(
    enrolled: Host, layout: str, cached: Wish, other: Wish
) -> None:
    volume = new_volume(enrolled, layout)
    bare = Wish(GIB, layout=layout)  # type: ignore[arg-type]
    stages = [
        (Kind.CREATE_VOLUME, bare),
        (Kind.ADD_CACHE, cached),
        (Kind.SET_CACHE, other),
        (Kind.REMOVE_CACHE, bare),
    ]
    for kind, wish in stages:
        job = done(kind, volume, wish)
        assert (job.state, job.error) == (State.SUCCEEDED, {}), kind
        assert volume.current_wish == wish
        assert volume.managed
    enrolled.refresh_from_db()
    assert enrolled.inventory is not None
    assert len(enrolled.inventory.public_lvs()) == 1
    assert enrolled.inventory.csets == ()


@pytest.mark.parametrize(("layout", "cached", "other"), caches(), ids=["lvmcache", "bcache"])
def test_writeback_ends_by_itself_once_the_mirror_lost_a_disk_where_the_host_says_so(
    enrolled: Host, fake_host: FakeHost, layout: str, cached: Wish, other: Wish
) -> None:
    volume = new_volume(enrolled, layout)
    done(Kind.CREATE_VOLUME, volume, Wish(GIB, layout=layout))  # type: ignore[arg-type]
    done(Kind.ADD_CACHE, volume, cached)
    done(Kind.SET_CACHE, volume, other)
    with fake_host.changing() as machine:
        machine.arrays[0].failed = {machine.arrays[0].members[0].name}
    assert refresh(enrolled)
    assert leave_due() == 0, "it is not allowed"
    Host.objects.update(leaves_writeback=True)
    assert leave_due() == 1
    made = Job.objects.get(origin=Origin.POLICY)
    for _ in range(20):
        Job.objects.filter(pk=made.pk).update(not_before=None)
        runner.run(made.pk)
    made.refresh_from_db()
    assert (made.state, made.error) == (State.SUCCEEDED, {})
    volume.refresh_from_db()
    assert volume.current_wish is not None and volume.current_wish.cache is not None
    assert volume.current_wish.cache.mode == "writethrough"
    assert refresh(enrolled)
    codes = [each.code for each in problems_of([enrolled.pk], timezone.now())[enrolled.pk]]
    assert "writeback_degraded" not in codes and "array_degraded" in codes
    assert leave_due() == 0


@pytest.mark.parametrize(("layout", "cached", "other"), caches(), ids=["lvmcache", "bcache"])
def test_a_preview_shows_the_commands_that_run_then(
    enrolled: Host, fake_host: FakeHost, layout: str, cached: Wish, other: Wish
) -> None:
    volume = new_volume(enrolled, layout)
    done(Kind.CREATE_VOLUME, volume, Wish(GIB, layout=layout))  # type: ignore[arg-type]
    ran = len(fake_host.executed)
    preview = done(Kind.ADD_CACHE, volume, cached, dry_run=True)
    assert (preview.state, preview.error) == (State.SUCCEEDED, {})
    assert len(fake_host.executed) == ran
    job = done(Kind.ADD_CACHE, volume, cached)
    assert job.state == State.SUCCEEDED
    assert commands(job) == commands(preview)
    assert any("lvcreate" in command for command in commands(job))
    outcomes = AuditEntry.objects.filter(job_key=job.key, phase=Phase.OUTCOME)
    trail = [command["shell"] for entry in outcomes for command in entry.commands]
    assert trail == commands(preview)


def test_a_cache_that_does_not_fit_is_refused_with_what_to_do(enrolled: Host) -> None:
    volume = new_volume(enrolled)
    wish = Wish(GIB, cache=LvmCache("c-aaaaaaaa", 40 * GIB))
    preview = done(Kind.ADD_CACHE, volume, wish, dry_run=True)
    assert (preview.state, preview.error["code"]) == (State.FAILED, "no_space")
    assert "smaller" in preview.error["correction"]
    with pytest.raises(Refused, match="SSD free") as caught:
        done(Kind.ADD_CACHE, volume, wish)
    assert (caught.value.code, "smaller" in caught.value.correction) == ("no_space", True)


def test_a_connection_cut_while_the_cache_is_attached_does_not_fail_the_job(
    enrolled: Host,
    fake_host: FakeHost,
    fake_server: FakeServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    volume = new_volume(enrolled)
    done(Kind.CREATE_VOLUME, volume, Wish(GIB))
    ask: Callable[..., object] = contact.ask
    cuts: list[str] = []

    def cut(host: Host, verb: str, *args: object, **fields: object) -> object:
        reply = ask(host, verb, *args, **fields)
        if verb == "cache.attach":
            cuts.append(verb)
            fake_server.cut()
        return reply

    monkeypatch.setattr(contact, "ask", cut)
    job = done(Kind.ADD_CACHE, volume, Wish(GIB, cache=LvmCache("c-aaaaaaaa", GIB)))
    assert (job.state, job.error) == (State.SUCCEEDED, {})
    assert cuts == ["cache.attach"]
