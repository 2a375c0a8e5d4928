"""Views of lists that people keep."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from panel.models import SavedView
from panel.models.saved_view import MOST_VIEWS
from tests import make
from tests.one_line import on_one_line

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user("ada@provider.org"))
    return client


def save(client: Client, name: str, query: str = "state=slow") -> str:
    answer = client.post(reverse("view-save", args=["volumes"]), {"name": name, "query": query})
    assert answer.status_code == 302
    return str(answer["Location"])


def test_a_view_is_kept_with_filters_and_order_and_leads_back_to_them(staff: Client) -> None:
    make.volume()
    page = staff.get(reverse("volumes"), {"state": "slow", "sort": "-iops", "page": "3"})
    query = page.context["list"].query
    assert query == "state=slow&sort=-iops"
    assert save(staff, "Slow ones", query) == f"{reverse('volumes')}?{query}"
    text = on_one_line(staff.get(reverse("volumes")).content.decode())
    assert f'href="{reverse("volumes")}?state=slow&amp;sort=-iops">Slow ones</a>' in text
    assert "Slow ones" not in staff.get(reverse("hosts")).content.decode()


def test_the_same_name_replaces_the_view(staff: Client) -> None:
    save(staff, "Mine", "state=slow")
    save(staff, "Mine", "state=dirty")
    assert [view.query for view in SavedView.objects.all()] == ["state=dirty"]


def test_a_view_is_hidden_from_other_people(staff: Client) -> None:
    save(staff, "Mine")
    view = SavedView.objects.get()
    other = Client()
    other.force_login(make.staff_user("bob@provider.org", staff_role="admin"))
    make.volume()
    assert "Mine" not in other.get(reverse("volumes")).content.decode()
    assert other.post(reverse("view-delete", args=[view.pk])).status_code == 404
    assert staff.post(reverse("view-delete", args=[view.pk])).status_code == 302
    assert not SavedView.objects.exists()


def test_a_view_without_a_name_or_one_too_many_is_not_kept(staff: Client) -> None:
    save(staff, "  ")
    assert not SavedView.objects.exists()
    for n in range(MOST_VIEWS + 1):
        save(staff, f"view {n}")
    assert SavedView.objects.count() == MOST_VIEWS


def test_there_are_views_of_lists_only(staff: Client) -> None:
    assert staff.post(reverse("view-save", args=["billing"]), {"name": "x"}).status_code == 404
