"""A host that hangs, floods or ends costs the other hosts of its collector nothing."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pytest_django import Settings

from jobs import collector, notify_workers
from jobs.transport import channel, connection
from storage.models import Host
from tests.integration.until import until
from tests.jobs.sshd import Cut, Exit, Flood, Raw, Silence, Sshd, Trickle

pytestmark = pytest.mark.django_db
Make = Callable[..., Sshd]
SAMPLE: dict[str, Any] = {"volumes": []}
GOOD = 5


@pytest.fixture(autouse=True)
def quick(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host gets five seconds, however busy the machine is; no message is sent."""
    settings.TIERCEL_SAMPLE_SECONDS = 2
    monkeypatch.setattr(collector, "DEADLINE", 2.5)
    monkeypatch.setattr(notify_workers, "host", lambda pk: None)


def good_hosts(sshd: Make) -> list[Host]:
    server = sshd(lambda request: SAMPLE)
    return [server.host() for _ in range(GOOD)]


@pytest.mark.parametrize(
    ("mischief", "code"),
    [
        (Silence(), "no_answer"),
        (Trickle(0.3), "no_answer"),
        (Flood("stdout"), "bad_reply"),
        (Flood("stderr"), "bad_reply"),
        (Cut(), "unreachable"),
        (Exit(1, "no\n"), "agent_missing"),
        (Raw(b'{"v": 1}\n{"v": 1}\n'), "bad_reply"),
    ],
    ids=["silent", "a byte a time", "floods", "floods stderr", "cuts", "ends", "two answers"],
)
def test_a_hostile_host_costs_no_other_one_a_round(sshd: Make, mischief: object, code: str) -> None:
    hosts = good_hosts(sshd)
    hostile = sshd(lambda request: mischief).host()
    for _ in range(2):
        assert collector.collect(0) == collector.CollectionRound(sampled=GOOD, failed=1)
    hostile.refresh_from_db()
    assert hostile.error["code"] == code
    assert not Host.objects.filter(pk__in=[host.pk for host in hosts]).exclude(error={}).exists()


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_who_floods_without_being_asked_is_cut_off(sshd: Make, stream: str) -> None:
    flood = Flood(stream, after=SAMPLE)
    sshd(lambda request: flood).host()
    collector.collect(0)
    until("the flood ends", lambda: _rests(flood), 20)
    assert flood.sent < 4 * channel.REPLY_LIMIT


def _rests(flood: Flood) -> bool:
    before = flood.sent
    time.sleep(0.3)
    return before == flood.sent


def test_a_little_on_stderr_does_no_harm(sshd: Make) -> None:
    talker = sshd(lambda request: Flood("stderr", after=SAMPLE, most=1000))
    talker.host()
    for _ in range(3):
        assert collector.collect(0).sampled == 1
    assert talker.channels == 1


def test_hosts_that_never_begin_to_speak_delay_no_log_in(
    sshd: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_hubs", [])
    monkeypatch.setattr(connection, "HANDSHAKES", 2)
    with mute() as port:
        trusted = sshd()
        mutes = [trusted.host(port=port) for _ in range(4)]
        good_hosts(sshd)
        monkeypatch.setattr(collector, "position", lambda host: 0 if host in mutes else 400)
        assert collector.collect(0) == collector.CollectionRound(sampled=GOOD, failed=len(mutes))


@contextmanager
def mute() -> Iterator[int]:
    """A port on which connections are accepted and nothing is ever said."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield server.getsockname()[1]


def test_a_reply_of_megabytes_is_not_read_where_all_hosts_are_served(
    sshd: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: dict[int, set[str]] = {}
    decode = connection.decode_reply

    def noted(line: bytes, request_id: str) -> Any:
        threads.setdefault(len(line) > connection.LONG_REPLY, set()).add(
            threading.current_thread().name
        )
        return decode(line, request_id)

    monkeypatch.setattr(connection, "decode_reply", noted)
    sshd(lambda request: {"volumes": [], "disks": [], "more": [{}] * 100_000}).host()
    sshd(lambda request: SAMPLE).host()
    assert collector.collect(0).sampled == 2
    assert threads[False] == {"ssh-loop"}
    assert "ssh-loop" not in threads[True]


def test_a_host_that_cannot_be_reached_gives_its_turn_back(sshd: Make) -> None:
    async def free() -> int:
        hub = connection.hub()
        await asyncio.sleep(0)
        return hub.handshakes._value

    closed = sshd()
    closed.host()
    closed.close()
    collector.collect(0)
    assert connection.run_on_loop(free()) == connection.HANDSHAKES
    closed.start()
