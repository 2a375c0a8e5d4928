"""A request with several replies: a channel of its own, which ends with its reader."""

from __future__ import annotations

import time
from contextlib import aclosing
from typing import Any

import pytest

from jobs.transport import Destination, connection, new_key_pair, watch_counters
from jobs.transport.errors import BadReply, TransportError, Unreachable
from jobs.transport.key_encryption import seal
from jobs.transport.replies import Reply
from storage.models import Host
from tests import make
from tests.fake.fixtures import fake_host, fake_server, make_fake_host
from tests.fake.server import FakeServer
from tests.jobs.sshd import Raw, Sshd

__all__ = ["fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db


def record_of(server: FakeServer) -> Host:
    private_key, public_key = new_key_pair()
    server.authorize(public_key)
    return make.host(port=server.port, host_key=server.host_key, sealed_key=seal(private_key))


def watched(host: Host, lv_uuid: str, count: int, most: int = 99, **more: Any) -> list[Reply]:
    """What comes, at most `most` replies."""

    async def read() -> list[Reply]:
        replies: list[Reply] = []
        stream = watch_counters(
            Destination.of(host), [lv_uuid], every_seconds=1, count=count, **more
        )
        async with aclosing(stream):
            async for reply in stream:
                replies.append(reply)
                if len(replies) == most:
                    break
        return replies

    return connection.run_on_loop(read())


def test_each_second_has_a_reply_until_there_are_enough(fake_server: FakeServer) -> None:
    uuid = fake_server.host.root.add_lv("web12", 1 << 30).uuid
    fake_server.host.root.load("web12")
    replies = watched(record_of(fake_server), uuid, 3)
    reads = [reply.data["volumes"][0]["disk"][0] for reply in replies]
    assert len(reads) == 3 and reads == sorted(set(reads))


def test_the_agent_stops_when_no_one_reads_any_more(fake_server: FakeServer) -> None:
    uuid = fake_server.host.root.add_lv("web12", 1 << 30).uuid
    host = record_of(fake_server)
    assert len(watched(host, uuid, 900, most=1)) == 1
    end = time.monotonic() + 60
    while fake_server.watching and time.monotonic() < end:
        time.sleep(0.05)
    assert fake_server.watching == 0
    assert len(watched(host, uuid, 1)) == 1, "the connection goes on"


def test_a_refusal_is_the_last_reply(fake_server: FakeServer) -> None:
    (reply,) = watched(record_of(fake_server), "no uuid", 5)
    assert reply.error is not None and reply.error.code == "bad_request"


def test_a_cut_connection_is_an_error_and_not_an_end(fake_server: FakeServer) -> None:
    host = record_of(fake_server)
    uuid = fake_server.host.root.add_lv("web12", 1 << 30).uuid

    async def read() -> None:
        stream = watch_counters(Destination.of(host), [uuid], every_seconds=1, count=900)
        async with aclosing(stream):
            async for _ in stream:
                for each in list(fake_server._connections):
                    fake_server_loop_abort(each)

    def fake_server_loop_abort(each: Any) -> None:
        each._loop.call_soon_threadsafe(each.abort)

    with pytest.raises(TransportError) as raised:
        connection.run_on_loop(read())
    assert isinstance(raised.value, Unreachable)


def test_a_host_that_floods_its_reader_is_cut_off(sshd: Any) -> None:
    def flood(request: dict[str, Any]) -> Raw:
        return Raw(b"{}\n" * 1000)

    server: Sshd = sshd(flood)
    with pytest.raises(BadReply):
        watched(server.host(), "x", 900)
