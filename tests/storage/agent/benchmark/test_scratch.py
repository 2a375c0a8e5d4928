"""A volume is scratch by its name and its tag of the same key, and never by one of them alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.agent.benchmark import scratch
from storage.naming import scratch_key

KEY, OTHER = "aaaaaaaa", "bbbbbbbb"


@pytest.mark.parametrize(
    ("name", "tags", "key"),
    [
        (f"b-{KEY}", ["tiercel", f"tiercel.bench={KEY}"], KEY),
        (f"b-{KEY}-cache", ["tiercel", "x", f"tiercel.bench={KEY}"], KEY),
        (f"b-{KEY}", ["tiercel"], None),
        (f"b-{KEY}", [f"tiercel.bench={KEY}"], None),
        (f"b-{KEY}", ["tiercel", f"tiercel.bench={OTHER}"], None),
        (f"b-{KEY}", ["tiercel", f"tiercel.bench={KEY}", f"tiercel.bench={OTHER}"], None),
        ("vm-101-disk-0", ["tiercel", f"tiercel.bench={KEY}"], None),
        (f"b-{KEY}\n", ["tiercel", f"tiercel.bench={KEY}"], None),
        (f"b-{KEY}-cache-1", ["tiercel", f"tiercel.bench={KEY}"], None),
        (f"v-{KEY}", ["tiercel", f"tiercel.volume={KEY}", f"tiercel.bench={KEY}"], None),
    ],
)
def test_name_and_tag_must_agree(name: str, tags: list[str], key: str | None) -> None:
    assert scratch.key_of({"name": name, "tags": tags}) == key
    assert scratch_key(name, tuple(tags)) == key, "the panel says the same"


NAMES = st.text(max_size=20) | st.sampled_from([f"b-{KEY}", f"b-{KEY}-cache", f"b-{OTHER}"])
TAGS = st.lists(
    st.text(max_size=20)
    | st.sampled_from(["tiercel", f"tiercel.bench={KEY}", f"tiercel.bench={OTHER}"]),
    max_size=4,
)


@given(NAMES, TAGS)
def test_whatever_a_volume_is_called_only_its_own_run_takes_it(name: str, tags: list[str]) -> None:
    key = scratch.key_of({"name": name, "tags": tags})
    if key is not None:
        assert name in (scratch.data_name(key), scratch.cache_name(key))
        assert {"tiercel", scratch.bench_tag(key)} <= set(tags)
