"""The page of the security log."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from panel.models import SecurityEntry, SecurityKind
from tests import make

pytestmark = pytest.mark.django_db


@pytest.fixture
def boss(client: Client) -> Client:
    client.force_login(make.staff_user("boss@example.org"))
    SecurityEntry.objects.create(kind=SecurityKind.FAILED, person="ann@a.org", address="192.0.2.7")
    SecurityEntry.objects.create(
        kind=SecurityKind.ROLE, person="bob@b.org", actor="boss@example.org", detail="owner of <b>"
    )
    return client


def seen(client: Client, **query: str) -> str:
    response = client.get(reverse("security-log"), query)
    assert response.status_code == 200
    return response.content.decode().split('id="found"')[1]


def test_the_newest_stands_first_and_text_is_text(boss: Client) -> None:
    text = seen(boss)
    assert text.index("bob@b.org") < text.index("ann@a.org")
    assert "owner of &lt;b&gt;" in text
    assert "2 events" in text


@pytest.mark.parametrize(
    ("query", "there"),
    [
        ({"who": "ANN"}, "ann@a.org"),
        ({"who": "192.0.2"}, "ann@a.org"),
        ({"who": "boss"}, "bob@b.org"),
        ({"kind": "failed"}, "ann@a.org"),
    ],
)
def test_it_is_narrowed(boss: Client, query: dict[str, str], there: str) -> None:
    text = seen(boss, **query)
    other = {"ann@a.org": "bob@b.org", "bob@b.org": "ann@a.org"}[there]
    assert there in text and other not in text


def test_nothing_found_says_how_to_ask(boss: Client) -> None:
    assert "Nothing matches" in seen(boss, who="stranger")
    assert "Nothing matches" in seen(boss, since="2999-01-01")


def test_a_time_that_is_none_is_said_to_be(boss: Client) -> None:
    response = boss.get(reverse("security-log"), {"since": "yesterday"})
    assert response.status_code == 400
    assert "is not a date or time" in response.content.decode()


def test_admins_find_it_beside_the_audit_trail(boss: Client) -> None:
    assert reverse("security-log") in boss.get(reverse("audit")).content.decode()
    boss.force_login(make.staff_user(staff_role="operator"))
    assert reverse("security-log") not in boss.get(reverse("audit")).content.decode()
