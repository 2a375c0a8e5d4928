"""SSD space is promised once: jobs that were accepted count before they have run."""

from __future__ import annotations

import pytest

from jobs import notify_workers
from jobs.models import Job, Kind
from jobs.queue.reservations import reserved
from jobs.queue.submit import Busy, ChangeRequest, submit
from jobs.requester import Requester
from storage.byte_sizes import GIB
from storage.models import Host, Volume
from storage.naming import new_key, pool_name
from storage.planner import Refused
from storage.planner.wish import LvmCache, Wish
from tests import make
from tests.jobs.engine.test_transitions import at_once
from tests.scene import end

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify_workers, "send", lambda task, *args: True)


def volumes(count: int, *, free_bytes: int) -> list[Volume]:
    """Volumes of one host whose SSD has `free_bytes` left."""
    lvs = [make.lv(f"web{n}", dev=f"253:{n}") for n in range(count)]
    facts = make.facts(*lvs, pvs=(make.pv(), make.fast_pv(free_bytes=free_bytes)))
    host = make.host(facts=make.inventory(facts))
    made = [make.volume() for _ in lvs]
    for volume, lv in zip(made, lvs, strict=True):
        make.placement(volume, host, lv_name=lv.name, lv_uuid=lv.uuid)
    return made


def ask(volume: Volume, size_bytes: int = 2 * GIB, *, dry_run: bool = False) -> Job:
    wish = Wish(8 * GIB, cache=LvmCache(pool_name(new_key()), size_bytes))
    return submit(ChangeRequest(Kind.ADD_CACHE, volume, wish, dry_run=dry_run), Requester(None))


def test_an_accepted_job_holds_its_space_and_a_finished_or_dry_one_none() -> None:
    first, second = volumes(2, free_bytes=3 * GIB)
    ask(first, dry_run=True)
    job = ask(first)
    host = Host.objects.get()
    assert host.inventory is not None
    assert reserved(host, host.inventory)[make.VG_UUID] > 2 * GIB
    assert reserved(host, host.inventory, but_for=first) == {}
    with pytest.raises(Refused, match="reserved for jobs") as caught:
        ask(second)
    assert caught.value.code == "no_space"
    assert "smaller" in caught.value.correction
    end(job)
    assert reserved(host, host.inventory) == {}
    ask(second)


def test_what_still_fits_is_accepted() -> None:
    first, second = volumes(2, free_bytes=5 * GIB)
    ask(first)
    ask(second)
    assert Job.objects.count() == 2


def test_asking_twice_for_one_volume_is_busy_not_full() -> None:
    (volume,) = volumes(1, free_bytes=3 * GIB)
    ask(volume)
    with pytest.raises(Busy):
        ask(volume)


def test_a_cache_that_is_larger_than_the_ssd_is_refused_before_any_job() -> None:
    (volume,) = volumes(1, free_bytes=GIB)
    with pytest.raises(Refused, match="SSD free"):
        ask(volume)
    assert not Job.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_many_who_ask_for_the_last_space_at_once_one_gets_it() -> None:
    made = volumes(8, free_bytes=3 * GIB)

    def attempt(n: int) -> Job | Refused:
        try:
            return ask(Volume.objects.get(pk=made[n].pk))
        except Refused as refused:
            return refused

    results = at_once(len(made), attempt)
    accepted = [result for result in results if isinstance(result, Job)]
    refused = [result for result in results if isinstance(result, Refused)]
    assert (len(accepted), Job.objects.count()) == (1, 1)
    assert {refusal.code for refusal in refused} == {"no_space"}


def test_the_room_of_a_cache_that_a_job_took_away_is_kept_for_the_way_back() -> None:
    first, second = volumes(2, free_bytes=3 * GIB)
    cached = Wish(8 * GIB, cache=LvmCache(pool_name(new_key()), 2 * GIB))
    job = submit(ChangeRequest(Kind.REMOVE_CACHE, first, Wish(8 * GIB)), Requester(None))
    Job.objects.filter(pk=job.pk).update(fallback=cached.to_json())
    with pytest.raises(Refused, match="reserved for jobs"):
        ask(second)
    Job.objects.filter(pk=job.pk).update(is_irrevocable=True)
    ask(second)
