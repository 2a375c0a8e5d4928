"""Home, health, signing in, errors, and what is true of every page."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from unittest import mock

import pytest
import redis
from django.conf import settings
from django.db import DatabaseError
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from jobs.models import Job, State
from panel.accounts import people
from tests import make
from tests.scene import HOSTILE, end, job, scene

pytestmark = pytest.mark.django_db

CSP = (
    "default-src 'self'; style-src 'self'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
TEMPLATES = sorted((settings.BASE_DIR / "templates").rglob("*.html"))
NAMED = ("hosts", "volumes", "volume-new", "jobs", "audit", "home")


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def sorted_directives(header: str) -> list[str]:
    return sorted(part.strip() for part in header.split(";"))


@pytest.mark.parametrize("name", NAMED)
def test_pages_send_anonymous_people_to_the_sign_in_page(client: Client, name: str) -> None:
    response = client.get(reverse(name))
    assert response.status_code == 302
    assert response["Location"].startswith(reverse("account_login"))


@pytest.mark.parametrize("name", NAMED)
def test_pages_answer_staff_without_any_data(staff: Client, name: str) -> None:
    assert staff.get(reverse(name)).status_code == 200


def test_every_page_carries_exactly_the_content_security_policy(staff: Client) -> None:
    for name in NAMED:
        header = staff.get(reverse(name))["Content-Security-Policy"]
        assert sorted_directives(header) == sorted_directives(CSP)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_has_no_inline_script_or_style(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"<style|\sstyle=|javascript:|\son[a-z]+=|hx-on|[\"']js:", text)
    for tag in re.findall(r"<script[^>]*>", text):
        assert " src=" in tag or 'type="application/json"' in tag, tag


def test_htmx_copies_no_style_attributes_which_the_policy_forbids(staff: Client) -> None:
    page = staff.get(reverse("home")).content.decode()
    found = re.search(r'name="htmx-config" content=\'([^\']+)', page)
    assert found is not None
    # While it waits for transitions it sets the attributes of what was there before.
    assert json.loads(found[1])["defaultSettleDelay"] == 0


def test_an_empty_panel_teaches_how_to_add_a_host(staff: Client) -> None:
    text = staff.get(reverse("home")).content.decode()
    assert "Add your first host" in text
    assert "fingerprint" in text


def test_people_who_are_not_staff_are_sent_to_their_own_volumes(client: Client) -> None:
    client.force_login(make.user())
    response = client.get(reverse("home"))
    assert (response.status_code, response["Location"]) == (302, reverse("my-volumes"))


def test_home_lists_hosts_and_jobs_that_need_a_person(staff: Client) -> None:
    there = scene(host={"state": "quarantined"})
    end(job(there), State.FAILED, error={"message": "it broke", "correction": "mend it"})
    text = staff.get(reverse("home")).content.decode()
    assert "shows a different SSH key" in text
    assert "it broke" in text
    assert "mend it" in text


def test_home_names_a_silent_host(staff: Client) -> None:
    scene(host={"last_seen_at": timezone.now() - timedelta(hours=2)})
    assert "Silent for 2\xa0h" in staff.get(reverse("home")).content.decode()


def test_home_says_when_nothing_needs_a_person(staff: Client) -> None:
    scene()
    assert "Nothing needs attention" in staff.get(reverse("home")).content.decode()


def test_the_notice_is_on_every_page(staff: Client) -> None:
    with override_settings(TIERCEL_NOTICE="This is a fake host"):
        for name in NAMED:
            assert b"This is a fake host" in staff.get(reverse(name)).content


def test_a_person_signs_in_and_out(client: Client) -> None:
    people.add(email="ann@example.org", password="correct horse 9", staff_role="admin")
    form = {"login": "ann@example.org", "password": "correct horse 9"}
    response = client.post(reverse("account_login"), form)
    assert (response.status_code, response["Location"]) == (302, "/")
    assert b"ann@example.org" in client.get(reverse("home")).content
    client.post(reverse("account_logout"))
    assert client.get(reverse("home")).status_code == 302


@pytest.mark.parametrize(
    "name",
    ["account_login", "account_reset_password", "account_signup"],
)
def test_pages_before_signing_in_are_in_style(client: Client, name: str) -> None:
    response = client.get(reverse(name))
    assert response.status_code == 200
    assert b'class="brand"' in response.content


def test_no_one_can_sign_up(client: Client) -> None:
    assert b"No sign-up here" in client.get(reverse("account_signup")).content


@pytest.mark.parametrize("name", ["account_logout", "account_change_password", "mfa_index"])
def test_account_pages_are_in_style(staff: Client, name: str) -> None:
    response = staff.get(reverse(name), follow=True)
    assert response.status_code == 200
    assert b'class="brand"' in response.content


def test_a_wrong_address_gets_our_own_page(staff: Client) -> None:
    with override_settings(DEBUG=False):
        response = staff.get(f"/nowhere/{HOSTILE}")
    assert response.status_code == 404
    assert b"The page does not exist" in response.content
    assert HOSTILE.encode() not in response.content


def test_a_form_without_its_token_gets_our_own_page() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(make.staff_user())
    response = client.post(reverse("volume-new"), {})
    assert response.status_code == 403
    assert b"The form has expired" in response.content


def test_a_mistake_of_ours_gets_our_own_page_without_details() -> None:
    client = Client(raise_request_exception=False)
    client.force_login(make.staff_user())
    with (
        override_settings(DEBUG=False),
        mock.patch(
            "panel.staff.dashboard.overview.overview", side_effect=RuntimeError("inner detail")
        ),
    ):
        scene()
        response = client.get(reverse("home"))
    assert response.status_code == 500
    assert b"Internal error" in response.content
    assert b"inner detail" not in response.content


def test_health_says_that_both_servers_answer(client: Client) -> None:
    response = client.get(reverse("health"))
    answers = {"database": True, "redis": True, "work": True}
    assert (response.status_code, response.json()) == (200, answers)


def test_a_worker_that_takes_no_job_leaves_the_pages_alone(client: Client) -> None:
    job(scene(), updated_at=timezone.now() - timedelta(minutes=5))
    response = client.get(reverse("health"))
    assert (response.status_code, response.json()["work"]) == (200, False)
    response = client.get(reverse("health-work"))
    assert (response.status_code, response.json()) == (503, {"standstills": ["jobs_untaken"]})
    Job.objects.update(explanation="taken")
    response = client.get(reverse("health-work"))
    assert (response.status_code, response.json()) == (200, {"standstills": []})


def test_health_is_unavailable_without_redis(client: Client) -> None:
    with mock.patch.object(redis.Redis, "ping", side_effect=redis.ConnectionError("away")):
        response = client.get(reverse("health"))
    assert (response.status_code, response.json()["redis"]) == (503, False)


def test_health_is_unavailable_without_the_database(client: Client) -> None:
    with mock.patch("panel.http.middleware.connection.cursor", side_effect=DatabaseError("away")):
        response = client.get(reverse("health"))
        work = client.get(reverse("health-work"))
    assert (response.status_code, response.json()["database"]) == (503, False)
    assert (work.status_code, work.json()) == (503, {"database": False})


@pytest.mark.parametrize(
    ("name", "section"),
    [
        ("host-volumes", "Hosts"),
        ("host-jobs", "Hosts"),
        ("host-settings", "Hosts"),
        ("volume-customer", "Volumes"),
        ("settings", "Settings"),
        ("webhooks", "Webhooks"),
        ("revenue", "Sales"),
    ],
)
def test_the_bar_marks_one_section(staff: Client, name: str, section: str) -> None:
    there = scene()
    of = there.host if name.startswith("host") else there.volume
    path = reverse(name, args=[of.key] if "-" in name else [])
    bar = staff.get(path).content.decode().split('id="topnav"')[1].split("</nav>")[0]
    marked = re.findall(r'aria-current="page">(?:<svg.*?</svg>)?\s*(\w+)', bar, re.S)
    assert marked == [section]
    assert ("is-here" in bar) is (section in ("Settings", "Webhooks"))


def test_a_jump_is_the_first_letter_of_its_page_and_the_list_of_shortcuts_says_it(
    staff: Client,
) -> None:
    page = staff.get(reverse("help")).content.decode()
    jumps = dict(
        (re.sub(r"<svg.*?</svg>|<[^>]+>", "", text).strip(), key)
        for key, text in re.findall(r'data-jump="(.)"[^>]*>(.*?)</a>', page, re.DOTALL)
    )
    for name in ("Overview", "Hosts", "Volumes", "Jobs", "Alerts", "Customers", "Sales"):
        assert jumps[name] == name[0].lower()
    assert len(set(jumps.values())) == len(jumps)
    listed = re.findall(r"<kbd>g</kbd> <kbd>(.)</kbd></dt><dd>([^<]+)", page)
    assert all(jumps[name] == key for key, name in listed)
