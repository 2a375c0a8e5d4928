"""What lies in Redis is read as data, no matter who wrote it."""

from __future__ import annotations

import pickle
import time
import uuid
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import cache
from django.core.cache.backends.redis import RedisCache

from panel.configuration import redis_client


class Payload:
    """Code, where it is unpickled."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> object:
        return Path.write_text, (self.place, "run")


def test_a_foreign_value_runs_no_code(tmp_path: Path) -> None:
    key = f"thief:{uuid.uuid4().hex}"
    written = tmp_path / "written"
    assert isinstance(cache._connections.settings["default"], dict)  # type: ignore[attr-defined]
    assert settings.CACHES["default"]["BACKEND"].endswith("JsonCache")
    name = RedisCache(settings.REDIS_URL, settings.CACHES["default"]).make_and_validate_key(key)
    with redis_client.client() as redis:
        redis.set(name, pickle.dumps(Payload(written)))
        try:
            assert cache.get(key, "nothing") == "nothing"
        finally:
            redis.delete(name)
    assert not written.exists()


@pytest.mark.parametrize("value", [[1.5, 2.25], "y", True, 7, None, {"a": [1]}])
def test_what_the_sign_in_limits_keep_comes_back_as_it_was(value: object) -> None:
    key = uuid.uuid4().hex
    cache.set(key, value, 10)
    assert cache.get(key, "gone") == value


def test_numbers_are_counted_by_redis() -> None:
    key = uuid.uuid4().hex
    cache.set(key, 7, 10)
    assert cache.incr(key) == 8


@pytest.mark.parametrize(
    "text",
    [
        b'"text"',
        b"not JSON",
        b'{"a": 1}',
        b"7",
        b"[4e9]",
        b'["x", null, true]',
        b"[" * 9999,
    ],
)
def test_a_foreign_value_counts_no_attempts(text: bytes) -> None:
    key = uuid.uuid4().hex
    with redis_client.client() as redis:
        redis.set(cache.make_key(name := f"thief:{key}"), text, ex=10)
    assert cache.get(name, []) == []


def test_times_that_passed_stay() -> None:
    key, past = uuid.uuid4().hex, time.time() - 1
    cache.set(key, [past, past + 1000], 10)
    assert cache.get(key, []) == [past]


def test_another_type_is_nothing_and_is_written_over() -> None:
    key = uuid.uuid4().hex
    with redis_client.client() as redis:
        redis.lpush(cache.make_key(key), "x")
        redis.expire(cache.make_key(key), 10)
    assert cache.get(key, []) == []
    assert cache.incr(key) == 1


def test_what_is_no_number_is_counted_from_nothing() -> None:
    key = uuid.uuid4().hex
    cache.set(key, "text", 10)
    assert [cache.incr(key), cache.incr(key)] == [1, 2]
