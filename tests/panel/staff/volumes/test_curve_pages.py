"""What SSD of each size would bring, on the page of a volume."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from storage.byte_sizes import GIB, MIB
from storage.database_clock import database_now
from storage.models import ForecastRecord, HeatDay
from tests import make
from tests.heat_scene import count_heat, counting_scene, slow_reads
from tests.one_line import on_one_line
from tests.panel.portal.shop import plan
from tests.scene import Scene

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_is_known() -> None:
    cache.clear()


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


@pytest.fixture
def here() -> Scene:
    return counting_scene()


def part(client: Client, there: Scene, query: str = "", *, brief: bool = False) -> str:
    """The tab; `brief` is what the summary loads."""
    url = reverse("volume-curve", args=[there.volume.key]) + query
    response = client.get(url, headers={"HX-Request": "true"} if brief else {})
    assert response.status_code == 200
    return on_one_line(response.content.decode())


def test_the_page_of_a_volume_loads_its_curve(staff: Client, here: Scene) -> None:
    text = staff.get(reverse("volume", args=[here.volume.key])).content.decode()
    assert reverse("volume-curve", args=[here.volume.key]) in text


def test_a_curve_is_drawn_said_and_listed(staff: Client, here: Scene) -> None:
    now = database_now()
    count_heat(here.volume, 12, now)
    slow_reads(here, 20, now - timedelta(minutes=25))
    text = part(staff, here)
    assert "of SSD is enough</strong> and saves" in text
    assert "of waiting a day" in text
    replayed = f"?host={here.host.key}&amp;heat_of={here.volume.key}"
    assert f'<a href="{reverse("benchmark-new")}{replayed}">Replay this' in text
    assert '<polygon class="size-chart-band"' in text
    assert 'Counted for <span class="num">12\xa0h</span>' in text
    assert text.count('<th scope="row"') > 3
    brief = part(staff, here, brief=True)
    assert "of SSD is enough</strong> and saves" in brief and "size-chart-band" in brief
    assert "<html" not in brief and '<th scope="row"' not in brief
    assert reverse("volume-curve", args=[here.volume.key]) in brief


def test_plans_lie_on_the_curve_with_their_price_and_what_they_save(
    staff: Client, here: Scene
) -> None:
    now = database_now()
    plan("Small", size_bytes=GIB)
    plan("Large", size_bytes=4 * GIB, price_minor=990)
    plan("Writes", size_bytes=2 * GIB, mode="writeback")
    count_heat(here.volume, 48, now)
    slow_reads(here, 20, now - timedelta(minutes=25))
    text = part(staff, here)
    assert text.count('<circle class="size-chart-dot"') == 2
    assert ">Small, 4.90\xa0EUR</text>" in text and ">Large, 9.90\xa0EUR</text>" in text
    assert "The smallest plan with as much is" in text
    assert "Writes" in part(staff, here, "?mode=writeback")


def test_the_form_of_a_cache_chooses_what_the_curve_says_is_enough(
    staff: Client, here: Scene
) -> None:
    now = database_now()
    url = reverse("cache-form", args=[here.volume.key])
    text = on_one_line(staff.get(url).content.decode())
    assert "is not known yet: nothing counted so far of 6\xa0h needed." in text
    assert "begin with 256\xa0MiB." in text
    count_heat(here.volume, 48, now)
    slow_reads(here, 20, now - timedelta(minutes=25))
    text = on_one_line(staff.get(url).content.decode())
    assert re.search(
        r"[MG]iB serves \d+ to \d+\s% of reads from SSD\. 6\sGiB would save little", text
    )


def test_the_summary_and_the_form_name_one_size_whatever_plans_are_sold(
    staff: Client, here: Scene
) -> None:
    now = database_now()
    for n in range(1, 12):
        plan(f"Odd {n}", size_bytes=n * 300 * MIB)
    count_heat(here.volume, 48, now)
    slow_reads(here, 20, now - timedelta(minutes=25))
    brief = re.search(r">([\d.]+\s[MG]iB) of SSD is enough<", part(staff, here, brief=True))
    form = on_one_line(staff.get(reverse("cache-form", args=[here.volume.key])).content.decode())
    assert brief is not None and f"{brief[1]} serves" in form


def test_the_form_of_a_cache_that_would_not_help_chooses_none(staff: Client, here: Scene) -> None:
    now = database_now()
    count_heat(here.volume, 60, now, is_hot=False)
    slow_reads(here, 20, now - timedelta(minutes=25))
    text = on_one_line(staff.get(reverse("cache-form", args=[here.volume.key])).content.decode())
    assert "It is not certain yet that a cache would help" in text
    assert 'value="" selected' not in text and ">Choose a size</option>" in text
    assert re.findall(r'<option value="\d+" selected', text) == []


def test_a_curve_says_whose_disks_it_rests_on_and_that_ranges_are_widened(
    staff: Client, here: Scene
) -> None:
    now = database_now()
    count_heat(here.volume, 12, now)
    slow_reads(here, 20, now - timedelta(minutes=25))
    text = part(staff, here)
    assert "Misses that are promoted" in text
    assert "published: too little is measured" in text
    assert "forecast accuracy" not in text
    ForecastRecord.objects.create(
        technology="lvmcache", orders=25, within=19, widened=1.5, judged_at=now
    )
    cache.clear()
    text = part(staff, here)
    assert "19 of the last 25 measured forecasts lay in the range that the model gave" in text
    assert reverse("calibration") in text


def test_without_a_curve_it_says_what_is_missing(staff: Client, here: Scene) -> None:
    assert "is not known yet: nothing counted so far of 6\xa0h needed." in part(staff, here)


def test_it_is_a_page_without_a_script_too(staff: Client, here: Scene) -> None:
    response = staff.get(reverse("volume-curve", args=[here.volume.key]))
    assert "<h1" in response.content.decode()


def test_staff_end_the_counting_and_what_was_counted_is_gone(staff: Client, here: Scene) -> None:
    count_heat(here.volume, 2, database_now())
    url = reverse("volume-heat", args=[here.volume.key])
    staff.post(url, {"end": "1"})
    assert not HeatDay.objects.exists()
    assert "may not be counted" in part(staff, here)
    staff.post(url)
    assert "nothing counted so far" in part(staff, here)
