"""The output of a job: its tail, what comes before, and all of it as text."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from jobs.models import Job, Line
from panel.staff.jobs.log_pages import CONTEXT_LINES, PAGE_LINES
from tests import make
from tests.scene import HOSTILE, end, job, scene

pytestmark = pytest.mark.django_db
LINE = re.compile(r'<li id="L(\d+)">')


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user(staff_role="read_only"))
    return client


def with_lines(count: int) -> Job:
    made = job(scene())
    Line.objects.bulk_create(Line(job=made, n=n, text=f"line {n}.") for n in range(1, count + 1))
    return made


def shown(client: Client, name: str, of: Job, **query: object) -> list[int]:
    """The counters of the lines in an answer."""
    response = client.get(reverse(name, args=[of.key]), query)
    assert response.status_code == 200
    return [int(n) for n in LINE.findall(response.content.decode())]


def test_a_page_starts_with_the_tail_and_leads_to_what_is_before(staff: Client) -> None:
    made = with_lines(PAGE_LINES + 200)
    assert shown(staff, "job", made) == list(range(201, PAGE_LINES + 201))
    text = staff.get(reverse("job", args=[made.key])).content.decode()
    assert f'hx-get="{reverse("job-lines", args=[made.key])}?before=201"' in text
    assert f'href="{reverse("job", args=[made.key])}?line=1"' in text


def test_earlier_lines_come_a_page_at_a_time_and_end_at_the_first(staff: Client) -> None:
    made = with_lines(PAGE_LINES + 200)
    assert shown(staff, "job-lines", made, before=PAGE_LINES + 151) == list(
        range(151, PAGE_LINES + 151)
    )
    text = staff.get(reverse("job-lines", args=[made.key]), {"before": 201}).content.decode()
    assert len(LINE.findall(text)) == 200
    assert "hx-get" not in text


def test_an_address_that_names_an_early_line_shows_it_with_what_led_to_it(staff: Client) -> None:
    made = with_lines(PAGE_LINES + 200)
    found = shown(staff, "job", made, line=100)
    assert (found[0], found[-1]) == (100 - CONTEXT_LINES, PAGE_LINES + 200)


@pytest.mark.parametrize("line", ["650", "x", "-1", "0", "999999999"])
def test_any_other_line_leaves_the_tail(staff: Client, line: str) -> None:
    made = with_lines(PAGE_LINES + 200)
    assert shown(staff, "job", made, line=line)[0] == 201


def test_nothing_new_is_answered_with_nothing(staff: Client) -> None:
    made = with_lines(2)
    address = reverse("job-lines", args=[made.key])
    assert staff.get(address, {"after": 2}).status_code == 204
    end(made)
    response = staff.get(address, {"after": 2})
    assert (response.status_code, response.content.strip()) == (200, b"")


def test_the_whole_output_is_there_as_plain_text(staff: Client) -> None:
    made = with_lines(PAGE_LINES + 1)
    Line.objects.create(job=made, n=PAGE_LINES + 2, text=HOSTILE)
    response = staff.get(reverse("job-log", args=[made.key]))
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response["X-Content-Type-Options"] == "nosniff"
    lines = b"".join(response.streaming_content).decode().splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("line 1.", HOSTILE, PAGE_LINES + 2)


def test_customers_see_no_output(client: Client) -> None:
    made = with_lines(1)
    client.force_login(make.user())
    assert client.get(reverse("job-log", args=[made.key])).status_code == 404
