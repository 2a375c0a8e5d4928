from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.agent.calls import names
from storage.naming import (
    cache_device_name,
    is_cache_device_name,
    is_pool_name,
    new_key,
    pool_name,
    tagged_volume_key,
    tagged_volume_keys,
    volume_name,
    volume_tag,
)


def test_the_agent_admits_every_name_we_make() -> None:
    for _ in range(200):
        key = new_key()
        assert names.volume_key(key) == key
        assert names.made("v")(volume_name(key)) == volume_name(key)
        assert names.made("c")(pool_name(key)) == pool_name(key)
        assert names.made("s")(cache_device_name(key)) == cache_device_name(key)


def test_keys_differ() -> None:
    assert len({new_key() for _ in range(1000)}) == 1000


def test_a_tag_tells_its_volume() -> None:
    key = new_key()
    assert tagged_volume_key(("backup", "tiercel", volume_tag(key))) == key


@given(st.lists(st.text(max_size=40)).map(tuple))
def test_other_peoples_tags_tell_no_volume(tags: tuple[str, ...]) -> None:
    assert tagged_volume_key(tags) is None


@pytest.mark.parametrize(
    "key",
    ["", "short", "aaaaaaaa\n", "AAAAAAAA", "aaaaaaa1", "a" * 27, "aaaa aaaa", "\uff41" * 8],
)
def test_a_tag_with_an_odd_key_is_ignored(key: str) -> None:
    assert tagged_volume_key((volume_tag(key),)) is None


def test_tags_of_two_volumes_tell_neither() -> None:
    tags = (volume_tag("aaaaaaaa"), volume_tag("bbbbbbbb"), volume_tag("aaaaaaaa"))
    assert tagged_volume_key(tags) is None
    assert tagged_volume_keys(tags) == ("aaaaaaaa", "bbbbbbbb")


def test_cache_names_differ_from_those_of_volumes() -> None:
    key = new_key()
    assert is_pool_name(pool_name(key)) and is_cache_device_name(cache_device_name(key))
    for name in (volume_name(key), "s-disk0", "c-disk0", f"c-{key}\n", f"s-{key}\n", key):
        assert not is_pool_name(name) and not is_cache_device_name(name)
