"""The menu of running jobs in the top bar."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from jobs.models import State
from panel.staff.jobs.running_menu import MOST_JOBS, running_of
from tests import make
from tests.scene import end, job, scene, step

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def test_what_is_over_and_previews_are_no_running_jobs() -> None:
    end(job(scene()))
    job(scene(), dry_run=True)
    assert running_of(make.staff_user()).count == 0


def test_jobs_that_need_a_person_come_first() -> None:
    queued, undecided = job(scene()), job(scene(), state=State.NEEDS_ATTENTION)
    newest = job(scene())
    now = running_of(make.staff_user())
    assert [each.job for each in now.shown] == [undecided, newest, queued]
    assert (now.count, now.undecided) == (3, 1)


def test_many_jobs_are_counted_but_not_all_shown(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    for _ in range(MOST_JOBS + 2):
        job(scene())
    person = make.staff_user()
    with django_assert_num_queries(3):
        now = running_of(person)
    assert (len(now.shown), now.count, now.undecided) == (MOST_JOBS, MOST_JOBS + 2, 0)


def test_the_menu_shows_how_far_a_step_is(staff: Client) -> None:
    there = scene(label="db data")
    progress = {"label": "dirty data left", "done_bytes": 1 << 30, "total_bytes": 4 << 30}
    step(
        job(there), state="running", op_id="6a7c1e4e-1b57-4c0e-8a53-90e54ab1c001", progress=progress
    )
    htmx = {"HX-Request": "true"}
    text = staff.get(reverse("running-jobs"), headers=htmx).content.decode()
    assert "Add cache: db data" in text
    assert 'value="1073741824"' in text
    assert "1\xa0GiB of 4\xa0GiB" in text


def test_the_menu_opened_as_a_page_shows_all_jobs(staff: Client) -> None:
    assert staff.get(reverse("running-jobs")).headers["Location"] == reverse("jobs")


def test_the_count_is_on_every_page_and_read_out(staff: Client) -> None:
    job(scene(), state=State.NEEDS_ATTENTION, error={"message": "the SSD is gone"})
    text = staff.get(reverse("customers")).content.decode()
    assert "Running jobs: 1, 1 needs a decision" in re.sub(r"\s+", " ", text)
    assert "the SSD is gone" in text


def test_the_menu_is_not_for_customers(client: Client) -> None:
    client.force_login(make.user())
    text = client.get(reverse("search")).content.decode()
    assert reverse("running-jobs") not in text
