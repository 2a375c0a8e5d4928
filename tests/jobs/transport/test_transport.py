"""SSH to hosts: one connection, clean channels, and a typed reason for everything else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from jobs import transport
from jobs.transport import Destination, connection
from jobs.transport.errors import (
    AgentMissing,
    AnswerTimeout,
    AuthRefused,
    BadReply,
    HostKeyChanged,
    SudoRefused,
    SudoTty,
    TotpDemanded,
    TransportError,
    Unreachable,
)
from jobs.transport.replies import Reply
from storage.models import Host
from tests.integration.until import until
from tests.jobs.sshd import STAMP, Cut, Exit, Raw, Refuse, Silence, Sshd

pytestmark = pytest.mark.django_db
Make = Callable[..., Sshd]


def is_idle(host: Host) -> bool:
    """Whether an agent of the host awaits a request."""

    async def look() -> bool:
        return bool(connection.hub().to(Destination.of(host))._idle)

    return connection.run_on_loop(look())


def has_places(host: Host) -> bool:
    """Whether no request to the host is under way."""

    async def look() -> bool:
        return connection.hub().to(Destination.of(host))._slots._value == connection.CHANNELS

    return connection.run_on_loop(look())


def echo(request: dict[str, Any]) -> dict[str, Any]:
    return {"verb": request["verb"], "args": request["args"]}


def test_a_call_brings_the_agents_data_and_stamp(sshd: Make) -> None:
    reply = transport.call(sshd(echo).host(), "op.get", {"after": 3})
    assert reply == Reply({"verb": "op.get", "args": {"after": 3}}, STAMP)


def test_a_refusal_is_a_reply_and_not_an_exception(sshd: Make) -> None:
    def refuse(request: dict[str, Any]) -> None:
        raise Refuse("no_space", "full", "lvcreate: no space")

    reply = transport.call(sshd(refuse).host(), "volume.create")
    assert not reply.ok
    assert reply.error is not None
    assert (reply.error.code, reply.error.stderr) == ("no_space", "lvcreate: no space")


def test_calls_one_after_the_other_use_one_connection_and_one_channel(sshd: Make) -> None:
    server = sshd(echo)
    host = server.host()
    for _ in range(20):
        transport.call(host, "sample")
    assert (server.connections, server.channels) == (1, 1)


def test_threads_share_one_connection_and_a_few_channels(sshd: Make) -> None:
    def slow(request: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.05)
        return echo(request)

    server = sshd(slow)
    host = server.host()
    with ThreadPoolExecutor(12) as pool:
        replies = list(pool.map(lambda n: transport.call(host, "op.get", {"n": n}), range(24)))
    assert [reply.data["args"]["n"] for reply in replies] == list(range(24))
    assert server.connections == 1
    assert 1 < server.channels <= 4


def test_a_request_carries_its_id_so_that_it_can_be_asked_for_later(sshd: Make) -> None:
    server = sshd(echo)
    transport.call(server.host(), "pool.create", request_id="5f0c")
    assert server.requests[0]["id"] == "5f0c"


def test_another_host_key_is_named_and_nothing_is_sent(sshd: Make) -> None:
    server, other = sshd(echo), sshd(echo)
    host = server.host()
    host.host_key = other.host_key
    with pytest.raises(HostKeyChanged) as caught:
        transport.call(host, "inventory")
    assert caught.value.seen_key == server.host_key
    assert caught.value.message.count("SHA256:") == 2
    assert server.requests == []


def test_a_key_that_sshd_does_not_know_is_refused(sshd: Make) -> None:
    with pytest.raises(AuthRefused, match="refuses the panel's key"):
        transport.call(sshd(echo, auth="refused").host(), "hello")


@pytest.mark.parametrize("auth", ["totp", "code-only"])
def test_a_demand_for_a_one_time_code_shows_the_block_to_add(sshd: Make, auth: str) -> None:
    with pytest.raises(TotpDemanded) as caught:
        transport.call(sshd(echo, auth=auth).host(), "hello")
    block = "Match User tiercel\n    AuthenticationMethods publickey\n"
    assert caught.value.correction.startswith(block)


@pytest.mark.parametrize(
    ("stderr", "error", "text"),
    [
        ("sudo: sorry, you must have a tty to run sudo\n", SudoTty, "Defaults:tiercel !requiretty"),
        ("sudo: a password is required\n", SudoRefused, "enrolment command"),
        (
            "sudo: /usr/lib/tiercel/agent.pyz: command not found\n",
            AgentMissing,
            "installs /usr/lib",
        ),
        ("sh: 1: sudo: not found\n", AgentMissing, "enrolment command"),
    ],
)
def test_what_sudo_says_becomes_a_correction(
    sshd: Make, stderr: str, error: type[TransportError], text: str
) -> None:
    with pytest.raises(error) as caught:
        transport.call(sshd(echo, exit=Exit(1, stderr)).host(), "hello")
    assert text in caught.value.correction


def test_a_closed_port_is_unreachable(sshd: Make) -> None:
    server = sshd(echo)
    host = server.host()
    server.close()
    with pytest.raises(Unreachable, match=f"127.0.0.1:{server.port}"):
        transport.call(host, "hello")
    server.start()


def test_a_connection_cut_during_a_request_is_unreachable_and_the_next_call_reconnects(
    sshd: Make,
) -> None:
    answers: list[object] = [Cut(), {"fine": 1}]
    server = sshd(lambda request: answers.pop(0))
    host = server.host()
    with pytest.raises(Unreachable, match="cut"):
        transport.call(host, "cache.attach")
    assert transport.call(host, "op.get").data == {"fine": 1}
    assert server.connections == 2


def test_a_channel_that_died_while_idle_is_replaced_silently(sshd: Make) -> None:
    answers: list[object] = [{"n": 1}, Exit(0, ""), {"n": 2}]
    server = sshd(lambda request: answers.pop(0))
    host = server.host()
    transport.call(host, "sample")
    # The agent ends when the second request comes, as one that was upgraded meanwhile would.
    assert transport.call(host, "sample").data == {"n": 2}
    assert (server.connections, server.channels) == (1, 2)


def test_an_agent_that_stays_silent_costs_its_deadline_and_its_channel(sshd: Make) -> None:
    answers: list[object] = [{"n": 1}, Silence(), {"n": 2}]
    server = sshd(lambda request: answers.pop(0))
    host = server.host()
    # To log in may take longer than the deadline that follows.
    transport.call(host, "sample")
    with pytest.raises(AnswerTimeout):
        transport.call(host, "sample", deadline_seconds=0.3)
    assert transport.call(host, "sample").data == {"n": 2}
    assert server.channels == 2


def test_a_late_answer_is_dropped_and_its_agent_serves_the_next_call(sshd: Make) -> None:
    def slow_to_start(request: dict[str, Any]) -> dict[str, Any]:
        if len(server.requests) == 1:
            has_started.wait()
        return {"n": len(server.requests)}

    has_started = threading.Event()
    server = sshd(slow_to_start)
    host = server.host()
    with pytest.raises(AnswerTimeout):
        transport.call(host, "sample", deadline_seconds=2.0)
    has_started.set()
    until("its agent is idle", lambda: is_idle(host))
    assert transport.call(host, "sample").data == {"n": 2}
    assert server.channels == 1


def test_what_ends_an_agent_after_its_caller_left_is_not_sent_to_another(sshd: Make) -> None:
    def ends_late(request: dict[str, Any]) -> object:
        if len(server.requests) == 1:
            return {"n": 1}
        if len(server.requests) == 2:
            has_left.wait()
            return Exit(0, "")
        return {"n": len(server.requests)}

    has_left = threading.Event()
    server = sshd(ends_late)
    host = server.host()
    transport.call(host, "sample")
    with pytest.raises(AnswerTimeout):
        transport.call(host, "pool.create", deadline_seconds=0.3)
    has_left.set()
    until("its place is free", lambda: has_places(host))
    assert transport.call(host, "sample").data == {"n": 3}
    assert (server.verbs(), server.channels) == (["sample", "pool.create", "sample"], 2)


def test_a_host_that_answers_nothing_is_given_no_more_agents_than_places(sshd: Make) -> None:
    server = sshd(lambda request: Silence())
    host = server.host()
    with ThreadPoolExecutor(8) as pool:
        calls = [
            pool.submit(transport.call, host, "sample", deadline_seconds=2.0) for _ in range(8)
        ]
    assert all(isinstance(call.exception(), AnswerTimeout) for call in calls)
    with pytest.raises(AnswerTimeout):
        transport.call(host, "sample", deadline_seconds=0.2)
    assert (len(server.requests), server.channels) == (connection.CHANNELS, connection.CHANNELS)


def test_a_request_whose_caller_left_before_the_log_in_is_never_sent(sshd: Make) -> None:
    server = sshd(echo, login_seconds=0.6)
    host = server.host()
    with pytest.raises(AnswerTimeout):
        transport.call(host, "pool.create", deadline_seconds=0.2)
    assert transport.call(host, "sample").ok
    assert server.verbs() == ["sample"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"Welcome to web12!\n", "not JSON"),
        (b"[]\n", "not a JSON object"),
        (b'{"v":1,"v":1}\n', "given twice"),
        (b'{"v":NaN}\n', "not a number"),
        (b'{"v":1e999}\n', "too large"),
        (b'{"v":2,"id":"x"}\n', "protocol version"),
        (b'{"v":1,"id":"x","ok":true,"data":{},"host":{}}\n', "another request"),
        (b"[" * 100_000 + b"\n", "nested too deeply"),
        (b"\xff\xfe\n", "not JSON"),
        (b"{}\n{}\n", "more than one line"),
        (b"x" * (4 * 1024 * 1024 + 65_537), "more than 4194304 bytes"),
    ],
)
def test_a_bad_reply_is_refused_and_its_channel_closed(sshd: Make, line: bytes, why: str) -> None:
    answers: list[object] = [Raw(line), {"n": 2}]
    server = sshd(lambda request: answers.pop(0))
    host = server.host()
    with pytest.raises(BadReply, match=why):
        transport.call(host, "sample")
    assert transport.call(host, "sample").data == {"n": 2}
    assert server.channels == 2


def test_output_without_a_request_closes_the_channel(sshd: Make) -> None:
    def twice(request: dict[str, Any]) -> object:
        if server.channels > 1:
            return {"channel": server.channels}
        first = b'{"v":1,"id":"%s","ok":true,"data":{},"host":{}}\n' % request["id"].encode()
        connection.shared().call_later(0.1, write_more)
        return Raw(first)

    def write_more() -> None:
        processes[0].stdout.write(b'{"v":1}\n')

    server = sshd(twice)
    processes: list[Any] = []
    served = server._reply

    async def noting(process: Any, line: bytes) -> bool:
        processes.append(process)
        return await served(process, line)

    server._reply = noting  # type: ignore[method-assign]
    host = server.host()
    transport.call(host, "sample")
    time.sleep(0.4)
    assert transport.call(host, "sample").data == {"channel": 2}


def test_a_changed_address_or_key_opens_another_connection(sshd: Make) -> None:
    server = sshd(echo)
    host = server.host()
    transport.call(host, "sample")
    host.account = "other"
    transport.call(host, "sample")
    assert server.connections == 2
    assert Destination.of(host).where == f"{host.name} (127.0.0.1:{server.port})"


def test_a_log_in_that_outlasts_a_deadline_serves_the_next_call(sshd: Make) -> None:
    server = sshd(echo, login_seconds=0.6)
    host = server.host()
    with pytest.raises(AnswerTimeout):
        transport.call(host, "sample", deadline_seconds=0.2)
    assert transport.call(host, "sample").ok
    assert server.connections == 1
