"""Whatever was measured: no more is promised than is waited, and every range is one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from storage.analysis.forecast import CacheChoice, SimilarVolume, Use, forecast, today
from storage.analysis.forecast.words import DAY

RATES = st.floats(0, 1)
BYTES = st.integers(1, 2**45)
USES = st.builds(
    Use,
    volume_bytes=BYTES,
    on_ssd=st.booleans(),
    days=st.floats(0, 7),
    covered=RATES,
    seconds=st.floats(0, 7 * DAY),
    is_since_change=st.booleans(),
    reads=st.integers(0, 10**9),
    read_iops=st.floats(0, 10**5),
    cache_size_bytes=st.none() | BYTES,
    used_bytes=st.none() | BYTES,
    grew_bytes=st.integers(0, 2**40),
    hit_rate=st.none() | RATES,
    latest_hit_rate=st.none() | RATES,
    waited_seconds_per_day=st.floats(0, DAY),
    missed_bytes_per_second=st.floats(0, 10**10),
)
RESULTS = st.lists(
    st.builds(
        SimilarVolume,
        customer=st.integers(1, 9),
        volume_bytes=BYTES,
        cache_bytes=BYTES,
        read_iops=st.floats(0, 10**5),
        hit_rate_after=RATES,
        read_ms_before=st.none() | st.floats(0, 1000),
        read_ms_after=st.none() | st.floats(0, 1000),
    ),
    max_size=12,
)


@given(use=USES, size=st.integers(0, 2**45), results=RESULTS)
def test_every_expectation_stays_within_what_is_waited(
    use: Use, size: int, results: list[SimilarVolume]
) -> None:
    found = forecast(use, CacheChoice(size), results)
    if found is None:
        return
    low, high = found.hit_rate_low, found.hit_rate_high
    assert high is None or low is None or 0 <= low <= high <= 1
    least, most = found.saved_seconds_per_day_low, found.saved_seconds_per_day_high
    assert (least is None) == (most is None)
    if least is not None and most is not None:
        assert least <= most <= use.waited_seconds_per_day + 1e-6
        assert use.waited_seconds_per_day - least <= DAY + 1e-6
    assert found.text.endswith(".")
    assert found.basis.endswith(".")


@given(use=USES)
def test_there_is_always_a_sentence(use: Use) -> None:
    sentence = today(use).sentence
    assert sentence[0].isupper() or sentence[0].isdigit()
    assert sentence.endswith((".", ".)"))


@given(use=USES, sizes=st.tuples(BYTES, BYTES))
def test_a_larger_cache_never_promises_less_at_most(use: Use, sizes: tuple[int, int]) -> None:
    smaller, larger = (forecast(use, CacheChoice(size)) for size in sorted(sizes))
    assert smaller is not None
    assert larger is not None
    if smaller.kind == larger.kind == "own_misses":
        assert (smaller.hit_rate_high or 0) <= (larger.hit_rate_high or 0)
