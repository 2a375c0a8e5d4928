"""Traces that a person asks for: begun, ended and collected by a worker, against the fake host,
whose agent is the real one."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from jobs import tasks
from jobs.engine import heat_traces
from jobs.engine.heat_traces import ask_for_trace, cancel_trace, trace_refusal
from jobs.hosts.refresh import refresh
from jobs.models import Kind
from jobs.requester import Requester
from storage.agent.state import heat_files
from storage.analysis.curve.heat import NS
from storage.analysis.heat_store import set_counting, trace_records
from storage.byte_sizes import GIB, KIB
from storage.database_clock import database_now
from storage.models import HeatTrace, Host, TraceState, Volume
from storage.planner import Refused
from storage.planner.wish import Wish
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of
from tests.fake.host import FakeHost
from tests.jobs.engine.test_end_to_end import (
    done,
    enrolled,
    fake_host,
    fake_server,
    make_fake_host,
    new_volume,
)
from tests.storage.analysis.curve.traces import heat, zipf_load

__all__ = ["enrolled", "fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db
NO_ONE = Requester(None)


@pytest.fixture
def volume(enrolled: Host, fake_host: FakeHost) -> Volume:
    """One that exists on a host whose service counts heat."""
    made = new_volume(enrolled)
    done(Kind.CREATE_VOLUME, made, Wish(GIB))
    says(enrolled, fake_host, heat_files.RUNNING)
    return made


def says(host: Host, fake_host: FakeHost, state: str) -> None:
    """The service says how it goes, and the panel has read it."""
    heat_files.save_state(fake_host, state, "", dict.fromkeys(heat_files.FIGURES, 0))
    assert refresh(host)
    host.refresh_from_db()


def row_of(volume: Volume) -> VolumeSnapshot:
    return snapshots_of([Volume.objects.get(pk=volume.pk)])[0]


def asked(volume: Volume, minutes: int = 15) -> HeatTrace:
    return ask_for_trace(row_of(volume), minutes, NO_ONE)


def followed(trace: HeatTrace, **earlier: timedelta) -> HeatTrace:
    """What a worker does of it. Times that are named lie so much earlier by then."""
    trace.refresh_from_db()
    for name, span in earlier.items():
        setattr(trace, name, getattr(trace, name) - span)
    trace.not_before = database_now()
    trace.save()
    tasks.follow_trace(trace.pk)
    trace.refresh_from_db()
    return trace


def over(trace: HeatTrace, by: timedelta = timedelta(seconds=30)) -> HeatTrace:
    """The same, so long after its end."""
    return followed(trace, ends_at=timedelta(minutes=trace.minutes) + by)


def counted(fake_host: FakeHost, trace: HeatTrace, seconds: int = 890) -> None:
    """The agent's service has written the records of a trace."""
    assert trace.until_ns is not None
    begun_ns = trace.until_ns - trace.minutes * 60 * NS + NS
    wanted = heat_files.load_wanted(fake_host).trace
    assert wanted is not None
    records: list[dict[str, Any]] = []
    for chunk_bytes in (4 * KIB, trace.chunk_bytes, 1024 * KIB):
        each = next(heat(zipf_load(1.0, 2_000, 4_096), share=4, begun_ns=begun_ns, seconds=seconds))
        row = msgspec.to_builtins(each) | {"chunk_bytes": chunk_bytes}
        records.append({"lv_uuid": wanted.lv_uuid, **row})
    heat_files.add_records(fake_host, records)


def allows(fake_host: FakeHost, *, heat_is_counted: bool) -> None:
    policy = json.loads(fake_host.read("/etc/tiercel/agent.json") or b"{}")
    text = json.dumps({**policy, "heat": heat_is_counted})
    fake_host.save("/etc/tiercel/agent.json", text.encode())


def test_a_trace_runs_on_the_host_and_what_it_counted_is_shown_with_it(
    fake_host: FakeHost, volume: Volume
) -> None:
    trace = asked(volume)
    assert (trace.state, trace.chunk_bytes) == (TraceState.WANTED, 64 * KIB)
    trace = followed(trace)
    wanted = heat_files.load_wanted(fake_host).trace
    assert wanted is not None
    assert (trace.state, wanted.chunk_bytes) == (TraceState.RUNNING, 64 * KIB)
    assert trace.until_ns == wanted.until_ns
    assert 890 <= (trace.seconds_left(database_now()) or 0) <= 900
    counted(fake_host, trace)
    trace = over(trace)
    assert (trace.state, trace.message, trace.is_on_host) == (TraceState.DONE, "", False)
    chunks = [record.chunk_bytes for record in trace_records(trace)]
    assert chunks == [4 * KIB, 64 * KIB, 1024 * KIB]


def test_a_trace_that_the_host_cut_short_says_so(fake_host: FakeHost, volume: Volume) -> None:
    trace = followed(asked(volume))
    counted(fake_host, trace, seconds=240)
    assert over(trace).message == "It ended early, after 4 min, to spare the host."


def test_a_volume_has_one_trace_at_a_time(volume: Volume) -> None:
    asked(volume)
    with pytest.raises(Refused, match="is being traced"):
        asked(volume)


def test_a_host_that_traces_another_volume_lets_this_one_wait(
    enrolled: Host, volume: Volume
) -> None:
    other = new_volume(enrolled)
    done(Kind.CREATE_VOLUME, other, Wish(GIB))
    followed(asked(other))
    trace = followed(asked(volume))
    assert trace.state == TraceState.WANTED
    assert "is being traced" in trace.message
    assert trace.not_before > database_now()


def test_a_trace_that_waits_is_cancelled_without_the_host(volume: Volume) -> None:
    trace = cancel_trace(asked(volume))
    assert (trace.state, trace.is_on_host) == (TraceState.CANCELLED, False)
    with pytest.raises(Refused, match="has ended"):
        cancel_trace(trace)


def test_a_trace_that_is_cancelled_ends_on_the_host(fake_host: FakeHost, volume: Volume) -> None:
    trace = cancel_trace(followed(asked(volume)))
    assert trace.is_on_host
    trace = followed(trace)
    assert not trace.is_on_host
    wanted = heat_files.load_wanted(fake_host)
    assert wanted.trace is None
    assert len(wanted.lv_uuids) == 1


def test_a_trace_that_is_cancelled_while_it_begins_ends_on_the_host(
    fake_host: FakeHost, volume: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace, ask = asked(volume), heat_traces._ask

    def cancelled(host: Host, verb: str, args: dict[str, Any]) -> Any:
        reply = ask(host, verb, args)
        if verb == "heat.trace" and args["minutes"]:
            cancel_trace(trace)
        return reply

    monkeypatch.setattr(heat_traces, "_ask", cancelled)
    trace = followed(trace)
    assert (trace.state, trace.is_on_host) == (TraceState.CANCELLED, True)
    assert not followed(trace).is_on_host
    assert heat_files.load_wanted(fake_host).trace is None


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (heat_files.STOPPED, "not_now"),
        (heat_files.PAUSED, "not_now"),
        (heat_files.UNAVAILABLE, "unsupported"),
    ],
)
def test_a_host_that_counts_nothing_refuses_with_the_reason(
    enrolled: Host, fake_host: FakeHost, volume: Volume, state: str, code: str
) -> None:
    says(enrolled, fake_host, state)
    with pytest.raises(Refused, match=enrolled.name) as refused:
        asked(volume)
    assert refused.value.code == code
    assert not HeatTrace.objects.exists()


def test_a_customer_who_does_not_wish_it_is_not_traced_and_what_was_traced_is_deleted(
    volume: Volume,
) -> None:
    asked(volume)
    set_counting(volume, allowed=False)
    assert not HeatTrace.objects.exists()
    refusal = trace_refusal(row_of(volume))
    assert refusal is not None
    assert refusal.code == "not_allowed"


def test_a_group_that_root_does_not_allow_is_not_traced(enrolled: Host, volume: Volume) -> None:
    Host.objects.filter(pk=enrolled.pk).update(hello={**enrolled.hello, "policy": {"vgs": []}})
    with pytest.raises(Refused, match="does not let the panel work"):
        asked(volume)


def test_a_host_whose_root_forbids_it_meanwhile_ends_the_trace_with_the_reason(
    fake_host: FakeHost, volume: Volume
) -> None:
    trace = asked(volume)
    allows(fake_host, heat_is_counted=False)
    trace = followed(trace)
    assert trace.state == TraceState.FAILED
    assert "does not let the heat" in trace.message
    assert "allow-heat" in trace.correction


def test_a_worker_that_dies_leaves_a_trace_that_another_one_ends(
    fake_host: FakeHost, volume: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[str, int]] = []
    monkeypatch.setattr(
        heat_traces.notify_workers, "send", lambda task, pk: sent.append((task, pk))
    )
    trace = followed(asked(volume))
    heat_traces.announce_due()
    assert sent == []
    HeatTrace.objects.update(not_before=database_now())
    tasks.sweep()
    assert ("jobs.tasks.follow_trace", trace.pk) in sent
    # Nothing was counted, and nothing will be.
    trace = over(trace)
    assert trace.state == TraceState.RUNNING
    trace = over(trace, timedelta(minutes=5))
    assert (trace.state, trace.message) == (
        TraceState.FAILED,
        "The host has no counts for it.",
    )


def test_a_trace_that_no_worker_began_for_an_hour_has_failed(volume: Volume) -> None:
    trace = followed(asked(volume), created_at=timedelta(hours=2))
    assert trace.state == TraceState.FAILED
    assert "no worker ran" in trace.message


def test_a_host_that_does_not_answer_is_asked_again_and_given_up_after_an_hour(
    enrolled: Host, volume: Volume
) -> None:
    trace = followed(asked(volume))
    Host.objects.filter(pk=enrolled.pk).update(port=1)
    trace = over(trace, timedelta(minutes=5))
    assert trace.state == TraceState.RUNNING
    trace = over(trace, timedelta(hours=2))
    assert (trace.state, trace.message) == (TraceState.FAILED, "The host stopped answering.")
