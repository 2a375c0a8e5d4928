"""Rounds of samples, and hello with the problems that only the panel sees."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import DataError, OperationalError, connection
from django.db.models.functions import Now
from pytest_django import Settings

from jobs import collector, notify_workers, tasks
from jobs.hosts import refresh
from jobs.transport import new_key_pair
from jobs.transport.key_encryption import seal
from jobs.transport.replies import Reply
from storage.agent import VERSION
from storage.byte_sizes import GIB
from storage.database_clock import database_now
from storage.host_data import BadHostData
from storage.metrics.samples import HostRound, Recorded, record_all
from storage.models import Host, LatestSample, Volume
from tests import make
from tests.fake.fixtures import fake_host, fake_server, make_fake_host
from tests.fake.host import FakeHost
from tests.fake.server import FakeServer
from tests.jobs.sshd import Exit, Silence, Sshd

__all__ = ["fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db
Make = Callable[..., Sshd]


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What was announced, at once."""
    messages: list[tuple[str, int]] = []
    monkeypatch.setattr(notify_workers, "host", lambda pk: messages.append(("host", pk)))
    monkeypatch.setattr(notify_workers, "send", lambda task, pk: messages.append((task, pk)))
    return messages


@pytest.fixture(autouse=True)
def quick(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host gets five seconds, however busy the machine is."""
    settings.TIERCEL_SAMPLE_SECONDS = 2
    monkeypatch.setattr(collector, "DEADLINE", 2.5)


def fake_record(server: FakeServer) -> Host:
    private_key, public_key = new_key_pair()
    server.authorize(public_key)
    return make.host(
        port=server.port,
        host_key=server.host_key,
        sealed_key=seal(private_key),
        machine_id=server.host.machine.machine_id,
    )


def hello(**fields: Any) -> dict[str, Any]:
    bare = {"agent": VERSION, "problems": [], "policy": {"vgs": ["vg0"]}, "kernel": "6.1"}
    return {**bare, **fields}


def refreshed(sshd: Make, answer: Callable[[dict[str, Any]], object]) -> Host:
    host = sshd(answer).host()
    refresh.refresh(host)
    host.refresh_from_db()
    return host


def codes(host: Host) -> list[str]:
    return [problem["code"] for problem in host.problems]


def test_a_round_samples_every_volume_of_every_host(
    fake_server: FakeServer, fake_host: FakeHost, sent: list[tuple[str, int]]
) -> None:
    fake_host.root.add_lv("web12", GIB)
    host = fake_record(fake_server)
    assert collector.collect(0) == collector.CollectionRound(sampled=1)
    assert sent == [("host", host.pk)], "an unknown LV asks for an inventory"
    assert refresh.refresh(host)
    volume = Volume.objects.get(label="web12")
    for _ in range(2):
        fake_host.advance(10)
        assert collector.collect(0).sampled == 1
    assert LatestSample.objects.filter(volume=volume).exists()
    assert sent == [("host", host.pk)]
    host.refresh_from_db()
    assert host.last_seen_at is not None


def test_one_bad_host_does_not_cost_the_others_their_round(
    sshd: Make, fake_server: FakeServer
) -> None:
    good = fake_record(fake_server)
    silent = sshd(lambda request: Silence()).host()
    mad = sshd(lambda request: {"volumes": "none"}).host()
    no_sudo = sshd(exit=Exit(1, "sudo: sorry, you must have a tty to run sudo\n")).host()
    closed = sshd()
    gone = closed.host()
    closed.close()
    assert collector.collect(0) == collector.CollectionRound(sampled=1, failed=4)
    errors = {host.pk: host.error.get("code") for host in Host.objects.all()}
    assert errors == {
        good.pk: None,
        silent.pk: "no_answer",
        mad.pk: "bad_reply",
        no_sudo.pk: "sudo_tty",
        gone.pk: "unreachable",
    }
    closed.start()


def test_a_round_that_cannot_be_stored_is_kept_on_the_host(
    fake_server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(collector, "record_all", broken)
    host = fake_record(fake_server)
    assert collector.collect(0) == collector.CollectionRound(failed=1)
    host.refresh_from_db()
    assert "ZeroDivisionError" in host.error["message"]


def test_hosts_that_answer_within_a_moment_are_stored_together(
    sshd: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []

    def noted(rounds: Sequence[HostRound]) -> list[Recorded | BadHostData]:
        sizes.append(len(rounds))
        return record_all(rounds)

    monkeypatch.setattr(collector, "record_all", noted)
    monkeypatch.setattr(collector, "SPREAD", 0)
    monkeypatch.setattr(collector, "TOGETHER_SECONDS", 2.0)
    server = sshd(lambda request: {"volumes": []})
    for _ in range(8):
        server.host()
    collector.collect(0)
    sizes.clear()
    assert collector.collect(0).sampled == 8
    assert sizes in ([8], [1, 7], [7, 1]), "connections are open"


def test_a_round_that_cannot_be_stored_costs_those_stored_with_it_nothing(
    sshd: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server = sshd(lambda request: {"volumes": []})
    hosts = [server.host() for _ in range(4)]
    bad = hosts[1].pk

    def picky(rounds: Sequence[HostRound]) -> list[Recorded | BadHostData]:
        if bad in [each.host.pk for each in rounds]:
            raise DataError("integer out of range")
        return record_all(rounds)

    monkeypatch.setattr(collector, "record_all", picky)
    assert collector.collect(0) == collector.CollectionRound(sampled=3, failed=1)
    messages = {host.pk: host.error.get("message") for host in Host.objects.all()}
    assert "DataError" in messages.pop(bad)
    assert set(messages.values()) == {None}


def test_rows_that_a_deadlock_undid_are_stored_with_the_same_answers(
    sshd: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = sshd(lambda request: {"volumes": []})
    for _ in range(3):
        server.host()
    tried = []

    def first_in_vain(rounds: Sequence[HostRound]) -> list[Recorded | BadHostData]:
        tried.append(len(rounds))
        if len(tried) == 1:
            raise OperationalError("deadlock detected")
        return record_all(rounds)

    monkeypatch.setattr(collector, "record_all", first_in_vain)
    assert collector.collect(0) == collector.CollectionRound(sampled=3)
    assert not Host.objects.exclude(error={}).exists()


def test_a_round_that_the_database_breaks_off_leaves_no_host_behind(
    sshd: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = sshd(lambda request: {"volumes": []})
    for _ in range(4):
        server.host()

    def away(*args: object) -> None:
        raise OperationalError("the database is away")

    with monkeypatch.context() as broken:
        broken.setattr(collector, "record_all", away)
        broken.setattr(connection, "is_usable", lambda: False)
        with pytest.raises(OperationalError):
            collector.collect(0)
    deadline = time.monotonic() + 60
    while collector._busy and time.monotonic() < deadline:
        time.sleep(0.01)
    assert collector.collect(0) == collector.CollectionRound(sampled=4)


def test_a_host_whose_rows_wait_for_the_database_is_asked_again(
    fake_server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_record(fake_server)
    meanwhile = []

    def slow(rounds: Sequence[HostRound]) -> list[Recorded | BadHostData]:
        monkeypatch.setattr(collector, "record_all", record_all)
        meanwhile.append(collector.collect(0))
        return record_all(rounds)

    monkeypatch.setattr(collector, "record_all", slow)
    assert collector.collect(0) == collector.CollectionRound(sampled=1)
    assert meanwhile == [collector.CollectionRound(sampled=1)]


def test_an_unforeseen_error_of_one_host_does_not_end_the_round_of_the_others(
    fake_server: FakeServer, sshd: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, odd = fake_record(fake_server), sshd(lambda request: {"volumes": []}).host()
    ask = collector.ask

    async def picky(destination: Any, *args: Any, **named: Any) -> Any:
        if destination.host_id == odd.pk:
            raise ZeroDivisionError
        return await ask(destination, *args, **named)

    monkeypatch.setattr(collector, "ask", picky)
    assert collector.collect(0) == collector.CollectionRound(sampled=1, failed=1)
    messages = {host.pk: host.error.get("message") for host in Host.objects.all()}
    assert messages[good.pk] is None and "ZeroDivisionError" in messages[odd.pk]


def test_a_host_that_is_still_asked_is_left_out(
    sshd: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = sshd().host()
    monkeypatch.setattr(collector, "_busy", {host.pk})
    assert collector.collect(0) == collector.CollectionRound(skipped=1)


def test_only_active_hosts_of_the_shard_are_asked(sshd: Make, settings: Settings) -> None:
    server = sshd()
    for state in ("pending", "unverified", "quarantined"):
        server.host(state=state)
    assert collector.collect(0) == collector.CollectionRound()
    assert server.connections == 0
    settings.TIERCEL_COLLECT_SHARDS = 3
    hosts = [make.host() for _ in range(60)]
    shards = [collector.position(host) % 3 for host in hosts]
    assert set(shards) == {0, 1, 2}


def test_hosts_of_a_round_are_asked_at_once(sshd: Make) -> None:
    together = threading.Barrier(6)

    def held(request: dict[str, Any]) -> object:
        together.wait(60)
        return {}

    server = sshd(held)
    for _ in range(6):
        server.host()
    collector.collect(0)
    assert not together.broken


def test_a_refresh_stores_hello_inventory_and_problems(
    fake_server: FakeServer, fake_host: FakeHost
) -> None:
    fake_host.root.add_lv("web12", GIB)
    host = fake_record(fake_server)
    tasks.refresh_host(host.pk)
    host.refresh_from_db()
    assert host.hello["agent"]
    assert host.allowed_vgs == ("vg0",)
    assert host.inventory is not None
    assert [lv.name for lv in host.inventory.public_lvs()] == ["web12"]


def test_a_host_that_may_only_be_looked_at_says_how_to_change_that(
    make_fake_host: Callable[..., FakeHost],
) -> None:
    with FakeServer(make_fake_host("2", observe_only=True)) as server:
        host = fake_record(server)
        assert refresh.refresh(host)
        host.refresh_from_db()
        problem = next(p for p in host.problems if p["code"] == "observe_only")
        assert "allow-vg" in problem["correction"]
        assert problem["severity"] == "info"


@pytest.mark.parametrize("agent", ["0.1.0", "0", "", "new", None, 7, "0.²", "9" * 5000])
def test_an_agent_older_than_the_panel_is_a_problem(agent: object) -> None:
    now = database_now()
    stamp = {"wall_ns": int(now.timestamp() * 1e9)}
    [problem] = refresh._observed_problems(Reply(hello(agent=agent), stamp), now, now)
    assert (problem["code"], problem["severity"]) == ("agent_old", "warning")
    assert "enrolment command" in problem["correction"]


@pytest.mark.parametrize("agent", [VERSION, "10.0", f"{VERSION}.1"])
def test_an_agent_as_new_as_the_panel_is_none(agent: str) -> None:
    now = database_now()
    stamp = {"wall_ns": int(now.timestamp() * 1e9)}
    assert refresh._observed_problems(Reply(hello(agent=agent), stamp), now, now) == []


@pytest.mark.parametrize(("offset_seconds", "says"), [(60, "ahead of"), (-3600, "behind")])
def test_a_wrong_clock_is_a_problem(sshd: Make, offset_seconds: int, says: str) -> None:
    problems = refresh._observed_problems(
        Reply(
            hello(),
            {"wall_ns": int((database_now().timestamp() + offset_seconds) * 1e9)},
        ),
        database_now(),
        database_now(),
    )
    assert [problem["code"] for problem in problems] == ["clock_off"]
    assert says in problems[0]["message"]


def test_a_right_clock_is_none(sshd: Make) -> None:
    before = database_now()
    stamp = {"wall_ns": int((database_now().timestamp() + 4) * 1e9)}
    assert refresh._observed_problems(Reply(hello(), stamp), before, database_now()) == []


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"problems": "none"},
        {"problems": ["x"]},
        {"problems": [{"code": 1}]},
        {"problems": [], "policy": 3},
        {"problems": [], "policy": {"vgs": [3]}},
    ],
)
def test_a_mad_hello_is_an_error_of_the_host(sshd: Make, answer: dict[str, Any]) -> None:
    host = refreshed(sshd, lambda request: answer)
    assert (host.error["code"], host.hello) == ("bad_reply", {})


def test_a_changed_key_seen_by_the_collector_quarantines_the_host(
    fake_server: FakeServer,
) -> None:
    host = fake_record(fake_server)
    assert collector.collect(0).sampled == 1
    fake_server.change_host_key()
    assert collector.collect(0).failed == 1
    host.refresh_from_db()
    assert (host.state, host.error["code"]) == ("quarantined", "host_key_changed")
    assert collector.collect(0) == collector.CollectionRound()


def test_every_active_host_is_refreshed_by_a_message_of_its_own(
    sent: list[tuple[str, int]],
) -> None:
    hosts = [make.host(), make.host(), make.host(state="quarantined")]
    tasks.refresh_facts()
    assert sorted(sent) == [("jobs.tasks.refresh_host", host.pk) for host in hosts[:2]]


def test_partitions_are_made_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = datetime(2031, 5, 1, 12, tzinfo=UTC)
    monkeypatch.setattr(tasks, "database_now", lambda: ahead)
    tasks.keep_partitions()
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('storage_sample_20310502')")
        assert cursor.fetchone() == ("storage_sample_20310502",)


def test_a_restarted_host_is_read_anew(
    fake_server: FakeServer, fake_host: FakeHost, sent: list[tuple[str, int]]
) -> None:
    host = fake_record(fake_server)
    assert refresh.refresh(host)
    collector.collect(0)
    assert sent == []
    fake_host.root.reboot()
    collector.collect(0)
    assert sent == [("host", host.pk)]
    host.refresh_from_db()
    assert refresh.refresh(host)
    collector.collect(0)
    assert sent == [("host", host.pk)]


@pytest.mark.parametrize("what", ["member", "disk", "rebuild"])
def test_a_host_that_has_lost_something_is_read_anew_at_once(
    what: str, fake_server: FakeServer, fake_host: FakeHost, sent: list[tuple[str, int]]
) -> None:
    host = fake_record(fake_server)
    assert refresh.refresh(host)
    for _ in range(2):
        collector.collect(0)
    assert sent == [], "what was never seen before is no change"
    with fake_host.changing() as there:
        if what == "member":
            there.arrays[0].failed = {"sdb"}
        elif what == "rebuild":
            there.arrays[0].sync_action = "recover"
        else:
            there.disks.pop()
    for _ in range(2):
        collector.collect(0)
    assert sent == 2 * [("host", host.pk)], "the first reading may have come to nothing"
    host.refresh_from_db()
    assert host.facts_at < host.parts_changed_at
    assert refresh.refresh(host)
    collector.collect(0)
    assert sent == 2 * [("host", host.pk)]


def test_an_inventory_that_was_not_answered_is_asked_for_again(
    fake_server: FakeServer, sent: list[tuple[str, int]]
) -> None:
    host = fake_record(fake_server)
    assert refresh.refresh(host)
    for minutes in (5, 7, 8):
        Host.objects.filter(pk=host.pk).update(facts_at=Now() - timedelta(minutes=minutes))
        collector.collect(0)
    assert sent == 2 * [("host", host.pk)]
