"""The head of a volume's page and its tabs."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from tests import make
from tests.scene import job, scene

pytestmark = pytest.mark.django_db

TABS = (
    "volume",
    "volume-curve",
    "volume-comparison",
    "volume-jobs",
    "volume-history",
    "volume-details",
)


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def page(client: Client, name: str, key: str) -> str:
    response = client.get(reverse(name, args=[key]))
    assert response.status_code == 200
    return response.content.decode()


def test_each_tab_is_an_address_that_names_the_others_and_marks_itself(staff: Client) -> None:
    there = scene()
    for name in TABS:
        text = page(staff, name, there.volume.key)
        nav = re.search(r'<nav class="tabs.*?</nav>', text, re.DOTALL)
        assert nav is not None
        hrefs = re.findall(r'href="([^"]+)"', nav[0])
        assert hrefs == [reverse(each, args=[there.volume.key]) for each in TABS]
        (current,) = re.findall(r'href="([^"]+)"\s+aria-current="page"', nav[0])
        assert current == reverse(name, args=[there.volume.key])
        assert 'id="volume-menu"' in text and 'id="work"' in text


def test_a_volume_on_ssd_has_no_tab_for_a_forecast(staff: Client) -> None:
    there = scene(make.lv(pvs=("md0",)))
    curve = reverse("volume-curve", args=[there.volume.key])
    assert curve not in page(staff, "volume", there.volume.key)
    assert curve in page(staff, "volume-curve", there.volume.key)


def test_the_job_of_a_volume_comes_with_each_of_its_tabs(staff: Client) -> None:
    there = scene()
    made = job(there)
    for name in TABS:
        text = page(staff, name, there.volume.key)
        assert f"{reverse('volume-current-job', args=[there.volume.key])}?job={made.key}" in text
        assert 'id="work-title"' in text


def test_the_summary_asks_its_three_questions(staff: Client) -> None:
    cached = scene(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")))
    text = page(staff, "volume", cached.volume.key)
    for question in ("Is it fast?", "Does the cache earn its SSD?", "What happened?"):
        assert f"{question}</h2>" in text


def test_the_jobs_of_a_volume_are_a_part_of_the_summary_and_a_page(staff: Client) -> None:
    there = scene()
    made = job(there)
    url = reverse("volume-jobs", args=[there.volume.key])
    part = staff.get(url, headers={"HX-Request": "true"}).content.decode()
    whole = staff.get(url).content.decode()
    for text in (part, whole):
        assert reverse("job", args=[made.key]) in text
    assert "<html" not in part and "<html" in whole
