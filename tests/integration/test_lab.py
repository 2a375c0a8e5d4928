"""A volume's whole life on a real host while a guest holds it: created, cached, measured, changed
and uncached, with the accidents that befall a job.

`make test` walks through it once, an admin and a customer taking turns.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from jobs.models import State
from storage.formatting import percent
from storage.metrics.samples import latest
from storage.models import Host, LatestSample, Volume
from storage.planner import DIRTY_LIMIT_BYTES
from tests.demo.visitor import Visitor
from tests.integration import by_hand
from tests.integration.accidents import cut, kill_worker
from tests.integration.buying import PASSWORD, buyer, completed, ordered
from tests.integration.confirmation import confirmed, trail_of
from tests.integration.lab_machine import LabMachine
from tests.integration.person import ADD_CACHE_TRAIL, Person, argvs, finished, trail, words
from tests.integration.requests import done, refused
from tests.integration.running import Running
from tests.integration.until import until
from tests.lab import load

pytestmark = [
    pytest.mark.lab,
    pytest.mark.xdist_group("lab"),
    pytest.mark.parametrize("machine", ["lab"], indirect=True),
]
VOLUME_MIB, CACHE_MIB = 128, 512
MEASURE_SECONDS = 120


def created(person: Person, machine: LabMachine, host: Host, layout: str) -> Volume:
    preview = person.new_volume(host, label=f"{layout} life", size_mib=VOLUME_MIB, layout=layout)
    volume = confirmed(person, machine, preview).volume
    assert f"v-{volume.key}" in machine.lvs()
    return volume


def agrees_with_the_kernel(person: Person, machine: LabMachine, volume: Volume) -> None:
    """The page's hit rate is within a point of root's own figures for the same interval."""
    lv = f"v-{volume.key}"
    with machine.load(lv), by_hand.noting(machine.lab, lv):
        began = timezone.now()

        def compared() -> tuple[float, list[float]] | None:
            row = LatestSample.objects.filter(volume=volume, gap="", cache_gap="").first()
            if row is None or row.dt_ms is None:
                return None
            if row.at - timedelta(milliseconds=row.dt_ms) < began:
                return None
            page = words(person.volume_page(volume))
            figures = latest(volume)
            if figures is None or figures.at != row.at:
                return None
            end = row.boottime_ns / 1e9
            noted = by_hand.hit_rates(machine.lab, end - row.dt_ms / 1e3, end)
            if noted is None or figures.hit_rate is None:
                return None
            assert f"Read hit rate {words(percent(figures.hit_rate))}" in page
            return figures.hit_rate, noted

        def missing() -> str:
            row = LatestSample.objects.filter(volume=volume).values("at", "gap", "cache_gap")
            return f"an interval that root noted too: {row}, {Host.objects.get(name='lab').error}"

        shown, noted = until(missing, compared, MEASURE_SECONDS)
    assert min(noted) - 0.01 <= shown <= max(noted) + 0.01
    assert min(noted) > 0.05 and max(noted) - min(noted) < 0.2


def test_an_lvmcache_is_bought_over_a_cut_connection_and_removed_by_a_killed_worker(
    machine: LabMachine, host: Host, panel: Running, person: Person
) -> None:
    of = buyer(person, host, "plain life")
    volume, lv, bare = of.volume, of.lv_name, machine.lvs()
    customer = Visitor(panel.url)
    customer.sign_in(of.user.email, PASSWORD)
    with (
        machine.world.guest("web12", lv),
        load.losing_nothing(machine.lab, "walk", machine.world.device(lv)),
    ):
        with machine.hold("lvconvert") as held:
            order = ordered(customer, of)
            assert order.job is not None
            cut(machine, held, order.job)
            job = finished(order.job)
        assert (job.state, job.actor) == (State.SUCCEEDED, of.user)
        assert trail(job) == ADD_CACHE_TRAIL and trail_of(job) == argvs(job)
        assert completed(order).charge_minor > 0
        assert of.small.name in words(customer.get(f"/my/volumes/{volume.key}/").text)
        assert "Mode writethrough Technology lvmcache" in words(person.volume_page(volume))
        agrees_with_the_kernel(person, machine, volume)
        assert "Reads from SSD" in words(customer.get(f"/my/volumes/{volume.key}/charts").text)
        confirmed(person, machine, person.set_mode(volume, "writeback"))
        done(host, "cache.flush", lv, dirty_limit_bytes=DIRTY_LIMIT_BYTES)
        preview = person.remove_cache(volume)
        with machine.hold("lvconvert") as held:
            removed = confirmed(person, machine, preview, partial(kill_worker, panel, held))
        assert [verb for verb, _ in trail(removed)] == ["cache.detach", "volume.clear"]
    assert "no cache Actions" in words(person.volume_page(volume))
    assert machine.lvs() == bare


@pytest.mark.thorough
def test_bcache_with_a_cut_connection(machine: LabMachine, host: Host, person: Person) -> None:
    volume = created(person, machine, host, "bcache")
    lv, bare = f"v-{volume.key}", machine.lvs()
    with machine.world.guest("web12", lv):
        assert refused(host, "bcache.stop", lv).code == "in_use"
        preview = person.add_cache(volume, CACHE_MIB)
        with machine.hold("lvcreate") as held:
            confirmed(person, machine, preview, partial(cut, machine, held))
        assert "Mode writethrough Technology bcache" in words(person.volume_page(volume))
        agrees_with_the_kernel(person, machine, volume)
        confirmed(person, machine, person.set_mode(volume, "writeback"))
        confirmed(person, machine, person.remove_cache(volume))
    assert "no cache Actions" in words(person.volume_page(volume))
    assert machine.lvs() == bare
