"""Whether a volume is fast, in a word."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from panel.staff.slowness.speed_answer import speed_answer


def asked(
    read_ms: float | None, *, reads: float = 50.0, is_stale: bool = False, is_slow: bool = False
) -> tuple[str, str]:
    latest = SimpleNamespace(read_ms=read_ms, read_iops=reads, seconds=60.0)
    row: Any = SimpleNamespace(latest=latest, is_stale=is_stale, is_slow=is_slow)
    said = speed_answer(row)
    return said.tone, said.text


@pytest.mark.parametrize(
    ("read_ms", "said"),
    [
        (2.4, ("ok", "fast, a read takes 2.40 ms")),
        (4.99, ("ok", "fast, a read takes 4.99 ms")),
        (10.4, ("quiet", "medium, a read takes 10.4 ms")),
        (20.0, ("quiet", "medium, a read takes 20.0 ms")),
    ],
)
def test_a_sample_alone_calls_no_volume_slow(read_ms: float, said: tuple[str, str]) -> None:
    assert asked(read_ms) == said
    assert asked(read_ms, is_slow=True) == ("warning", f"slow, {said[1].partition(', ')[2]}")


def test_a_slow_volume_without_a_read_in_its_last_sample_is_slow() -> None:
    assert asked(None, is_slow=True) == ("warning", "slow")


def test_what_is_not_known_is_neither_fast_nor_slow() -> None:
    assert asked(2.4, is_stale=True) == ("quiet", "not known: no new figures")
    assert asked(None) == asked(30.0, reads=0.01) == ("quiet", "too few reads to tell")
    row: Any = SimpleNamespace(latest=None, is_stale=True)
    assert speed_answer(row).tone == "quiet"
