"""Who kept disks busy, who wrote to an SSD, and what a job changed, for programs."""

from __future__ import annotations

from datetime import timedelta

import pytest

from storage.byte_sizes import SECTOR_BYTES
from storage.models import Host
from tests import make
from tests.panel.api.asking import Program, problem, staff
from tests.panel.staff.volumes.test_comparison import worked
from tests.scene import job, scene
from tests.storage.analysis import test_disk_activity as disk_activity
from tests.storage.analysis import test_ssd_writers as writers
from tests.storage.metrics.samples.rounds import noon_gone

pytestmark = pytest.mark.django_db


@pytest.fixture
def asking() -> Program:
    return staff("operator")


def test_the_disks_of_a_host_name_whom_they_worked_for(asking: Program) -> None:
    there = scene()
    noon = noon_gone()
    there.volume.placement_set.update(since=noon - timedelta(days=2))
    of = disk_activity.device(there.host, "sdc")
    for n in range(1, 6):
        at = noon + timedelta(minutes=n)
        disk_activity.sample(there.volume, at, 90_000)
        disk_activity.counted(of, at, 120_000, 57_000)
    path = f"/hosts/{there.host.key}/disk-users"
    end = (noon + timedelta(minutes=5)).isoformat()
    shown = asking.get(path, **{"from": noon.isoformat(), "to": end}).json()
    [used] = [each for each in shown["items"] if each["disk"] == "sdc"]
    assert (used["busy"], used["in_flight"]) == (0.95, 2.0)
    [user] = used["users"]
    assert (user["volume"]["key"], user["share"]) == (there.volume.key, 0.75)
    assert used["other_share"] == pytest.approx(0.25)
    wrong = asking.get(path, **{"from": end, "to": noon.isoformat()})
    assert problem(wrong, 400, "invalid_parameter")["errors"][0]["parameter"] == "from"


def test_an_ssd_names_who_wrote_to_it(asking: Program) -> None:
    facts, start = writers.facts(), noon_gone()
    host, end = writers.placed(facts), start + 5 * writers.HOUR
    Host.objects.filter(pk=host.pk).update(facts=make.inventory(facts), facts_at=end)
    writers.wear(host, start, 0)
    writers.wear(host, end, 10 * writers.SECTORS * SECTOR_BYTES)
    writers.sampled(host, facts, start)
    [disk] = asking.get(f"/hosts/{host.key}/disks").json()["items"]
    shown = asking.get(f"{disk['url'].removeprefix('/api/v1')}/writers", span="30d").json()
    assert [each["volume"]["name"] for each in shown["items"]] == ["busy", "quiet"]
    assert [round(each["share"], 2) for each in shown["items"]] == [0.3, 0.1]
    assert shown["total_bytes"] == pytest.approx(10 * writers.SECTORS * SECTOR_BYTES, rel=0.01)
    bad = asking.get(f"/hosts/{host.key}/disks/{disk['key']}/writers", span="1y")
    problem(bad, 400, "invalid_parameter")


def test_a_job_is_compared_figure_by_figure(asking: Program) -> None:
    _, done = worked()
    shown = asking.get(f"/jobs/{done.key}/comparison", minutes=5).json()
    assert shown["job"]["key"] == done.key
    assert (shown["before"]["read_ms"], shown["after"]["read_ms"]) == (5.0, 0.5)
    [row] = [each for each in shown["items"] if each["what"] == "Read time"]
    assert (row["before"], row["after"], row["verdict"]) == ("5.00 ms", "0.50 ms", "better")
    assert shown["lacks"] == ""


def test_a_comparison_that_lacks_figures_says_so(asking: Program) -> None:
    made = job(scene())
    shown = asking.get(f"/jobs/{made.key}/comparison").json()
    assert (shown["items"], shown["after"]) == ([], None)
    assert "still running" in shown["lacks"]
    preview = job(scene(), dry_run=True)
    problem(asking.get(f"/jobs/{preview.key}/comparison"), 404, "not_found")
    problem(asking.get(f"/jobs/{made.key}/comparison", minutes=0), 400, "invalid_parameter")
