"""Whatever is written to Redis, workers at work go on with the next message."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
import redis
from celery import Celery
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs import standstill
from jobs.models import LifeSign
from panel.configuration.environment import broker
from tests.integration.running import Running
from tests.integration.until import until

HARMLESS = "panel.tasks.prune_sessions"
QUEUES = {"jobs": "worker", "housekeeping": "housekeeping", "collect.0": "collector"}
MAILBOX = "/0.celery.pidbox"
EVENTS = "/0.celeryev/worker.heartbeat"
SECONDS = 60


@pytest.fixture(scope="module")
def panel(processes: Running) -> tuple[Running, redis.Redis, Celery]:
    """A worker of each kind, and a client of Redis and of them."""
    for name in QUEUES.values():
        processes.start(name)
    url = processes.environment["REDIS_URL"]
    app = Celery("client", broker=broker(url), set_as_current=False)
    until("each answers", lambda: len(ping(app)) == len(QUEUES), SECONDS)
    return processes, redis.Redis.from_url(url), app


def ping(app: Celery) -> dict[str, Any]:
    return app.control.inspect(timeout=5, limit=len(QUEUES)).ping() or {}


def done(app: Celery) -> dict[str, int]:
    """How many good messages each process began to work on."""
    stats = app.control.inspect(timeout=5, limit=len(QUEUES)).stats() or {}
    return {node.partition("@")[0]: each["total"].get(HARMLESS, 0) for node, each in stats.items()}


def is_well(app: Celery) -> None:
    """Each does the next message that is one, and answers."""
    until("each answers", lambda: done(app).keys() == set(QUEUES.values()), SECONDS)
    before = done(app)
    for queue in QUEUES:
        app.send_task(HARMLESS, queue=queue)
    until(
        "the good messages are worked on",
        lambda: done(app) == {name: count + 1 for name, count in before.items()},
        SECONDS,
    )


def envelope(body: bytes, headers: object, **changes: object) -> bytes:
    whole = {
        "body": base64.b64encode(body).decode(),
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": headers,
        "properties": {"body_encoding": "base64", "delivery_tag": "x", "delivery_info": {}},
    }
    return json.dumps(whole | changes).encode()


def task(body: bytes, **headers: object) -> bytes:
    return envelope(body, {"task": HARMLESS, "id": "a", **headers})


def command(method: str, **fields: object) -> bytes:
    return envelope(json.dumps({"method": method, **fields}).encode(), {"clock": 10**4000})


BAD = (
    b"",
    b"\xff",
    b"null",
    b"[]",
    b"{}",
    b"7",
    b"1" * 5000,
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b"x" * 50_000_000,
    task(b"[[], {}, {}]", eta="9999-12-31T23:59:59+00:00"),
    task(b"[[], {}, {}]", expires="never"),
    task(b"[[], {}, {}]", id=["not", "hashable"]),
    task(b"[[1], {}, {}]"),
    task(b"[" + b"1" * 5000 + b"]"),
    task(b"[" * 30_000),
    task(b"\xff"),
    envelope(b"[[], {}, {}]", {}),
    envelope(b"[[], {}, {}]", None),
    envelope(b"[[], {}, {}]", {"task": "no.such.task", "id": "a"}),
    envelope(b"[[], {}, {}]", {"task": HARMLESS, "id": "a"}, properties={}),
    envelope(b"[[], {}, {}]", {"task": HARMLESS, "id": "a"}, **{"content-type": "a/b"}),
    *(command(each) for each in ("shutdown", "pool_shrink", "pool_restart", "autoscale", "none")),
    *(command("cancel_consumer", arguments={"queue": queue}) for queue in QUEUES),
    command("rate_limit", arguments={"task_name": HARMLESS, "rate_limit": "1/h"}),
    command("ping", pattern="(a|a)+$" * 20, matcher="pcre"),
    command("ping", reply_to={"exchange": "jobs", "routing_key": "jobs"}, ticket="t"),
    command("revoke", arguments={"task_id": "a", "terminate": True}),
)


def send(client: redis.Redis, raw: bytes) -> None:
    """To each queue, and to all that listen."""
    for queue in QUEUES:
        client.lpush(queue, raw)
    for channel in (MAILBOX, EVENTS):
        client.publish(channel, raw)


def test_a_bad_message_ends_nothing(panel: tuple[Running, redis.Redis, Celery]) -> None:
    running, client, app = panel
    for raw in BAD:
        send(client, raw)
    is_well(app)
    assert not running.dead()
    for name in QUEUES.values():
        assert "dropped: 'it is too large'" in running.log(name).read_text()
        assert running.log(name).stat().st_size < 1_000_000, "no message is written to the log"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=8), inner),
)
raws = st.one_of(
    st.binary(max_size=200),
    anything.map(lambda each: json.dumps(each).encode()),
    st.builds(lambda body, headers: envelope(body, headers), st.binary(), anything),
    st.builds(lambda body: task(json.dumps(body).encode()), anything),
    st.builds(
        lambda name, value: envelope(b"[[], {}, {}]", {}, **{name: value}), st.text(), anything
    ),
)


@settings(max_examples=20)
@given(st.lists(raws, min_size=10, max_size=40))
def test_arbitrary_bytes_on_every_queue_end_nothing(
    panel: tuple[Running, redis.Redis, Celery], batch: list[bytes]
) -> None:
    running, client, app = panel
    for raw in batch:
        send(client, raw)
    is_well(app)
    assert not running.dead()


def test_keys_of_another_kind_under_the_names_of_queues_are_deleted(
    panel: tuple[Running, redis.Redis, Celery],
) -> None:
    running, client, app = panel
    for queue in QUEUES:
        client.set(queue, "no list")
    client.set("unacked", b"\xff")
    client.set("unacked_index", b"\xff")
    until("the queues can be used", lambda: not any(map(client.exists, QUEUES)), SECONDS)
    is_well(app)
    assert not running.dead()


@pytest.mark.django_db(transaction=True)
def test_each_slot_signs_and_says_when_it_was_stopped(
    panel: tuple[Running, redis.Redis, Celery],
) -> None:
    running, _, _ = panel
    until(
        "each slot signs",
        lambda: standstill.counts(standstill.work_record())["worker", "idle"] == 16,
        SECONDS,
    )
    assert standstill.unserved(standstill.work_record(), QUEUES) == set()
    assert "is alive" in running.manage("alive", "worker")
    running.stop("collector")
    signs = LifeSign.objects.filter(kind="collector")
    until("it says so", lambda: signs.exists() and not signs.filter(is_stopped=False).exists())
    assert not any(each.code == "collector_silent" for each in standstill.standstills_now())
