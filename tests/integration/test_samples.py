"""Beat ticks, the collector asks, the page shows: on the fake host, whose counters we know."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobs.models import State
from storage.formatting import percent
from storage.metrics.samples import latest, window
from storage.models import Host, LatestSample, Sample, Volume
from tests.integration.fake_machine import FakeMachine
from tests.integration.person import Person, words
from tests.integration.running import SAMPLE_SECONDS
from tests.integration.until import until

pytestmark = pytest.mark.parametrize("machine", ["fake"], indirect=True)
HIT_RATE = 0.97


def rounds(volume: Volume) -> int:
    """How many intervals are stored of a volume."""
    return Sample.objects.filter(volume=volume).count()


def more_rounds(volume: Volume, count: int) -> None:
    wanted = rounds(volume) + count
    until(
        f"{count} more samples of {volume}",
        lambda: rounds(volume) >= wanted,
        (count + 3) * SAMPLE_SECONDS,
    )


def test_a_cached_volume_and_a_foreign_one_get_their_figures_and_a_reboot_is_a_gap(
    machine: FakeMachine, host: Host, person: Person
) -> None:
    machine.world.add_lv("legacy-cold", 64 << 20)
    machine.world.add_lv("legacy-hot", 64 << 20)
    person.refresh(host)
    cold, hot = (
        Volume.objects.get(label=label, placement__host=host)
        for label in ("legacy-cold", "legacy-hot")
    )
    job = person.apply_and_wait(person.add_cache(hot, 256))
    assert (job.state, job.error) == (State.SUCCEEDED, {})
    with machine.load("legacy-hot"), machine.load("legacy-cold"):
        # The first of these intervals began before the load.
        more_rounds(hot, 2)
        figures, slow = latest(hot), latest(cold)
        page = words(person.volume_page(hot))
    assert figures is not None and figures.hit_rate is not None and slow is not None
    assert figures.hit_rate == pytest.approx(HIT_RATE, abs=0.01)
    assert figures.read_iops == pytest.approx(5000, rel=0.1)
    assert f"Read hit rate {words(percent(figures.hit_rate))}" in page
    assert slow.read_iops == pytest.approx(300, rel=0.1)
    assert slow.hit_rate is None
    summed = window(hot, figures.at - timedelta(seconds=1.5 * SAMPLE_SECONDS), figures.at)
    assert summed.intervals == 1
    assert summed.hit_rate == pytest.approx(HIT_RATE, abs=0.01)
    before = rounds(hot)
    machine.host.root.reboot()
    until(
        "the reboot is noticed",
        lambda: LatestSample.objects.filter(volume=hot, gap="rebooted").exists(),
        3 * SAMPLE_SECONDS,
    )
    assert rounds(hot) == before
    assert "the host rebooted" in words(person.volume_page(hot))
    more_rounds(hot, 1)
    assert not LatestSample.objects.filter(volume=hot).exclude(gap="").exists()
