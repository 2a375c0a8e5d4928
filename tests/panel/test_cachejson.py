"""What lies in Redis is read as data, whoever wrote it."""

from __future__ import annotations

import pickle
import uuid
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import cache
from django.core.cache.backends.redis import RedisCache

from panel import broker


class Payload:
    """Code, to whoever unpickles it."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> object:
        return Path.write_text, (self.place, "run")


def test_a_value_that_somebody_else_wrote_runs_no_code(tmp_path: Path) -> None:
    key = f"thief:{uuid.uuid4().hex}"
    written = tmp_path / "written"
    assert isinstance(cache._connections.settings["default"], dict)  # type: ignore[attr-defined]
    assert settings.CACHES["default"]["BACKEND"].endswith("RedisCache")
    name = RedisCache(settings.REDIS_URL, settings.CACHES["default"]).make_and_validate_key(key)
    with broker.client() as redis:
        redis.set(name, pickle.dumps(Payload(written)))
        try:
            with pytest.raises(ValueError, match=r"decode|JSON|Expecting"):
                cache.get(key)
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
