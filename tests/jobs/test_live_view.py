"""A volume second by second, as long as a person looks."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from django.core.cache import cache
from redis.exceptions import RedisError

from jobs import live_view, notify_workers, tasks, transport
from jobs.hosts import refresh
from jobs.live_view import LiveView
from jobs.transport.errors import Unreachable
from storage.byte_sizes import GIB
from storage.database_clock import database_now
from storage.models import Volume
from tests.fake.fixtures import fake_host, fake_server, make_fake_host
from tests.fake.host import FakeHost
from tests.fake.server import FakeServer
from tests.jobs.test_collector import fake_record

__all__ = ["fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, str]]:
    messages: list[tuple[str, int, str]] = []
    monkeypatch.setattr(
        notify_workers, "send", lambda task, pk, queue="": messages.append((task, pk, queue))
    )
    monkeypatch.setattr(notify_workers, "host", lambda pk: None)
    return messages


@pytest.fixture
def volume(sent: list[object], fake_server: FakeServer, fake_host: FakeHost) -> Iterator[Volume]:
    fake_host.root.add_lv("web12", GIB)
    fake_host.root.load("web12", write_share=0.5)
    assert refresh.refresh(fake_record(fake_server))
    volume = Volume.objects.get(label="web12")
    yield volume
    cache.delete(f"live:{volume.pk}:lease")
    until(lambda: not fake_server.watching)


def until(is_so: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.1)


def seen(volume: Volume) -> LiveView:
    view = live_view.look(volume)
    assert view is not None
    return view


def test_who_looks_sees_each_second_and_the_stream_ends_when_no_one_does(
    volume: Volume,
    sent: list[tuple[str, int, str]],
    fake_server: FakeServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_view, "LEASE_SECONDS", 3)
    assert live_view.look(volume) is None
    assert live_view.begin_live_view(volume)
    assert sent == [("jobs.tasks.stream_live", volume.pk, "collect.0")]
    assert seen(volume) == LiveView()
    tasks.stream_live(volume.pk)
    until(lambda: len(seen(volume).seconds) >= 3)
    last = seen(volume).seconds[-1]
    assert last.read_iops == pytest.approx(150, rel=0.3)
    assert last.write_iops == pytest.approx(150, rel=0.3)
    assert last.read_ms is not None and last.hit_rate is None
    assert live_view.stream(volume.pk) is False, "one stream is enough for all who look"
    assert fake_server.watching == 1
    until(lambda: not fake_server.watching)
    assert live_view.look(volume) is None


def test_a_message_that_comes_when_no_one_looks_any_more_begins_nothing(
    volume: Volume, fake_server: FakeServer
) -> None:
    assert live_view.stream(volume.pk) is False
    assert fake_server.watching == 0


def test_a_volume_that_is_not_active_has_no_live_view(volume: Volume, sent: list[object]) -> None:
    Volume.objects.update(retired_at=database_now())
    assert live_view.begin_live_view(volume) is False
    assert sent == []


def test_an_agent_too_old_for_it_is_the_trouble_that_is_shown(
    volume: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "WATCH", "sample.unheard_of")
    assert live_view.begin_live_view(volume) and live_view.stream(volume.pk)
    until(lambda: "too old" in seen(volume).trouble)


def test_a_host_that_is_cut_off_is_the_trouble_that_is_shown(
    volume: Volume, fake_server: FakeServer
) -> None:
    assert live_view.begin_live_view(volume) and live_view.stream(volume.pk)
    until(lambda: bool(seen(volume).seconds))
    fake_server.cut()
    until(lambda: "cannot be reached" in seen(volume).trouble)
    assert live_view.begin_live_view(volume) and live_view.stream(volume.pk), "and may begin again"
    until(lambda: bool(seen(volume).seconds))


def test_a_stream_that_fails_while_redis_is_away_is_in_the_log(
    volume: Volume, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")

    async def cut(*args: object, **named: object) -> AsyncIterator[object]:
        raise Unreachable("host1", "cut")
        yield

    def away(*args: object) -> None:
        raise RedisError("away")

    monkeypatch.setattr(live_view, "watch_counters", cut)
    monkeypatch.setattr(live_view, "_keep", away)
    assert live_view.begin_live_view(volume) and live_view.stream(volume.pk)
    until(lambda: "and Redis: away" in caplog.text)


def test_a_host_has_few_streams_at_a_time(volume: Volume, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_view, "OF_A_HOST", 0)
    assert live_view.begin_live_view(volume)
    assert live_view.stream(volume.pk) is False
    assert "Others are watching" in seen(volume).trouble


def test_what_lies_in_redis_and_is_not_ours_is_shown_as_nothing(volume: Volume) -> None:
    live_view.begin_live_view(volume)
    cache.set(f"live:{volume.pk}:view", {"seconds": "none"}, 10)
    assert seen(volume).seconds == ()
