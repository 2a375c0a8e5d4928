"""What the panel takes from Redis, and what it drops."""

from __future__ import annotations

import base64
import hashlib
import inspect
import json
from typing import Any

import kombu
import pytest
from celery.worker.control import Panel
from hypothesis import given
from hypothesis import strategies as st
from kombu.transport import redis

from panel.celery import app
from panel.configuration import broker_transport
from panel.configuration.broker_transport import COMMANDS, BadMessage, checked

MAILBOX = "worker@here.celery.pidbox"
WRITTEN_FOR = "5.7.0"
REPLACED = {
    "_brpop_read": "c42518699709",
    "_receive_one": "d59b8751d897",
}


@pytest.fixture(autouse=True, scope="module")
def tasks() -> None:
    """As a worker has them."""
    app.loader.import_default_modules()


def encoded(body: object) -> str:
    return base64.b64encode(json.dumps(body).encode()).decode()


def message(content: object, headers: object = None, **changes: object) -> bytes:
    whole = {
        "body": encoded(content),
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": {} if headers is None else headers,
        "properties": {"body_encoding": "base64", "delivery_tag": "x", "delivery_info": {}},
    }
    return json.dumps(whole | changes).encode()


def changed(name: str, value: object) -> bytes:
    """With one of its parts replaced."""
    return json.dumps({**json.loads(message([])), name: value}).encode()


def task(*args: object, name: str = "jobs.tasks.refresh_host", **headers: object) -> bytes:
    return message([args, {}, {}], {"task": name, "id": "a", **headers})


def command(method: str, **fields: object) -> bytes:
    return message({"method": method, "arguments": {}, "destination": None, **fields})


def sent(name: str, *args: object, **options: Any) -> bytes:
    """What Celery itself puts on the queue."""
    signature = app.signature(name, args=args)
    made = app.amqp.as_task_v2(
        "an-id", signature.task, signature.args, {}, expires=options.get("expires")
    )
    return message(made.body, made.headers)


def test_what_celery_sends_is_taken() -> None:
    taken = checked(sent("jobs.tasks.refresh_host", 7, expires=60), "jobs")
    assert taken["headers"]["task"] == "jobs.tasks.refresh_host"
    assert json.loads(taken["body"])[:2] == [[7], {}]
    assert taken["headers"]["expires"]


def test_nothing_of_a_message_but_the_task_its_arguments_and_its_end_is_handed_on() -> None:
    forged = message(
        [[7], {}, {"callbacks": [{"task": "jobs.tasks.sweep"}]}],
        {"task": "jobs.tasks.refresh_host", "id": "a", "reply_to": "b", "timelimit": [1, 1]},
        properties={
            "body_encoding": "base64",
            "delivery_tag": ["not", "hashable"],
            "delivery_info": {"consumer_tag": "1", "exchange": "other"},
            "reply_to": "elsewhere",
        },
    )
    taken = checked(forged, "jobs")
    assert isinstance(taken["properties"]["delivery_tag"], str)
    assert taken["properties"]["delivery_info"] == {"exchange": "", "routing_key": "jobs"}
    assert "timelimit" not in taken["headers"]
    assert "reply_to" not in taken["headers"] and "reply_to" not in taken["properties"]
    assert json.loads(taken["body"])[2]["callbacks"] is None


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff\xfe",
        b"not json",
        b"null",
        b"[]",
        b"7",
        b"{}",
        b"1" * 5000,
        b"[" * 20_000,
        b'{"a":' * 10_000,
        task(7, filler="x" * broker_transport.TASK_BYTES),
        task(7, eta="9999-12-31T23:59:59+00:00"),
        task(7, expires="never"),
        task(7, name="no.such.task"),
        task(7, name="celery.chord_unlock"),
        task(),
        task(7, 8),
        task("seven"),
        task(True),
        task(1.5),
        task(10**30),
        task(10**4000),
        message([[7], {"host_id": 7}, {}], {"task": "jobs.tasks.refresh_host", "id": "a"}),
        message({"args": [7]}, {"task": "jobs.tasks.refresh_host", "id": "a"}),
        message([[7], {}, {}], {"task": "jobs.tasks.refresh_host"}),
        message([[7], {}, {}], {"task": ["jobs.tasks.refresh_host"], "id": "a"}),
        message([[7], {}, {}], ["task"]),
        message([[7], {}, {}], {"task": "jobs.tasks.refresh_host", "id": "a" * 1000}),
        message([], {"task": "jobs.tasks.refresh_host", "id": "a"}, body="no base64!"),
        message([], {"task": "jobs.tasks.refresh_host", "id": "a"}, body="Z"),
        message([[7], {}, {}], {"task": "jobs.tasks.refresh_host", "id": "a"}, properties=None),
        task(7).replace(b"application/json", b"application/x-python-serialize"),
        task(7).replace(b'"utf-8"', b'"utf-7"'),
        task(7).replace(b'"base64"', b'"rot13"'),
    ],
    ids=lambda raw: repr(raw[:30]),
)
def test_what_is_no_task_of_the_panel_is_refused(raw: bytes) -> None:
    with pytest.raises(BadMessage):
        checked(raw, "jobs")


def test_commands_that_only_ask_are_taken() -> None:
    raw = command("active", arguments={"safe": None, "more": 1}, ticket="t")
    taken = json.loads(checked(raw, MAILBOX)["body"])
    assert (taken["method"], taken["arguments"], taken["ticket"]) == ("active", {"safe": None}, "t")


def test_a_command_is_taken_as_celery_sends_it() -> None:
    revoked = command("revoke", arguments={"task_id": "a", "terminate": False, "signal": "SIGTERM"})
    assert json.loads(checked(revoked, MAILBOX)["body"])["arguments"] == {"task_id": "a"}


def test_each_command_that_is_taken_is_one_of_celery() -> None:
    assert COMMANDS.keys() <= Panel.data.keys()


@pytest.mark.parametrize(
    "method",
    [
        "shutdown",
        "terminate",
        "pool_restart",
        "pool_shrink",
        "pool_grow",
        "autoscale",
        "add_consumer",
        "cancel_consumer",
        "rate_limit",
        "time_limit",
        "election",
        "memdump",
    ],
)
def test_no_command_ends_a_worker_or_part_of_it(method: str) -> None:
    with pytest.raises(BadMessage):
        checked(command(method), MAILBOX)


@pytest.mark.parametrize(
    "raw",
    [
        command("revoke", arguments={"task_id": "a", "terminate": True}),
        command("ping", pattern="(a+)+$", matcher="pcre"),
        command("ping", reply_to={"exchange": "jobs", "routing_key": "jobs"}),
        command("ping", arguments=[1]),
        command("ping", destination="worker@here"),
        command("ping", ticket="t" * broker_transport.COMMAND_BYTES),
        message([1, 2]),
        message(None),
    ],
)
def test_a_forged_command_is_refused(raw: bytes) -> None:
    with pytest.raises(BadMessage):
        checked(raw, MAILBOX)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
raws = st.one_of(
    st.binary(max_size=300),
    anything.map(lambda each: json.dumps(each).encode()),
    st.builds(message, anything, anything),
    st.builds(
        lambda name, value: json.dumps({**json.loads(message([])), name: value}).encode(),
        st.text(),
        anything,
    ),
)


@given(raws, st.sampled_from(["jobs", "collect.0", MAILBOX, "a.reply.celery.pidbox"]))
def test_arbitrary_bytes_are_refused_with_a_reason(raw: bytes, queue: str) -> None:
    try:
        checked(raw, queue)
    except BadMessage as refused:
        assert str(refused)


def test_kombu_reads_as_it_did_when_this_was_written() -> None:
    assert kombu.__version__ == WRITTEN_FOR
    for name, digest in REPLACED.items():
        source = inspect.getsource(getattr(redis.Channel, name))
        found = hashlib.sha256(source.encode()).hexdigest()[:12]
        assert found == digest, f"compare {name} of Kombu with ours: {found}"


def test_the_panel_reads_through_it() -> None:
    with app.connection_for_read() as connection:
        assert isinstance(connection.transport, broker_transport.Transport)
