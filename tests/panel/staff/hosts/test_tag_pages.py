"""Tags of hosts, and from which read time on volumes are slow there."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from storage.models import TagLimit
from tests import make
from tests.one_line import on_one_line
from tests.proven import sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client: Client) -> Client:
    return sign_in(client, make.staff_user("admin@example.org"))


def saved(admin: Client, tag: str, slow_read_ms: str) -> str:
    data = {"tag": tag, "slow_read_ms": slow_read_ms}
    response = admin.post(reverse("host-tag-limit"), data, follow=True)
    return on_one_line(response.content.decode())


def limits() -> dict[str, int]:
    return dict(TagLimit.objects.values_list("tag", "slow_read_ms"))


def test_each_tag_of_a_host_is_listed_with_its_hosts_and_its_limit(admin: Client) -> None:
    make.host(tags=["nvme", "rack-7"])
    make.host(tags=["nvme"])
    TagLimit.objects.create(tag="nvme", slow_read_ms=5)
    TagLimit.objects.create(tag="gone", slow_read_ms=9)
    page = admin.get(reverse("host-tags")).content.decode()
    rows = re.findall(r'\?tag=([\w-]+)".*?class="num">(\d+)<.*?value="(\d*)">', page, re.S)
    assert rows == [("gone", "0", "9"), ("nvme", "2", "5"), ("rack-7", "1", "")]


def test_a_limit_is_set_changed_and_taken_away_by_an_admin(admin: Client) -> None:
    assert "On hosts tagged nvme a read is slow from 5\xa0ms." in saved(admin, "NVMe", "5")
    assert limits() == {"nvme": 5}
    saved(admin, "nvme", "7")
    assert limits() == {"nvme": 7}
    assert "The tag nvme has no limit of its own." in saved(admin, "nvme", "")
    assert limits() == {}


@pytest.mark.parametrize(
    ("tag", "ms"), [("nvme", "0"), ("nvme", "10001"), ("two words", "5"), ("", "5")]
)
def test_what_is_no_limit_of_one_tag_is_refused(admin: Client, tag: str, ms: str) -> None:
    saved(admin, tag, ms)
    assert limits() == {}


def test_who_may_only_look_sees_limits_and_no_form(client: Client) -> None:
    sign_in(client, make.staff_user(staff_role="read_only"))
    TagLimit.objects.create(tag="nvme", slow_read_ms=5)
    page = client.get(reverse("host-tags")).content.decode()
    assert "<td" in page and 'name="slow_read_ms"' not in page
    assert re.search(r'class="num">5<', page)


def test_the_trail_says_who_set_and_who_deleted_a_limit(admin: Client) -> None:
    for ms in ("5", "7", ""):
        saved(admin, "nvme", ms)
    page = re.sub(r"<[^>]*>", " ", admin.get(reverse("trail")).content.decode())
    text = " ".join(page.split())
    for what in ("Created", "Changed", "Deleted"):
        assert f"{what} limit of tag nvme" in text
    assert "slow read ms" in text
