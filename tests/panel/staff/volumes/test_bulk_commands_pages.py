"""What the preview of a change for many says of each volume: steps, the way back, and on demand
the exact commands of its host."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from jobs.models import Job, Kind, State
from storage.planner.wish import Wish
from tests import make
from tests.scene import Scene, end, scene, step

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def cached(label: str = "cached") -> Scene:
    return scene(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")), label=label)


def shown(client: Client, there: Scene, action: str = "remove-cache") -> str:
    """The page that a person confirms."""
    chosen = {"action": action, "volume": [there.volume.key]}
    return unescape(client.post(reverse("volumes-bulk"), chosen).content.decode())


def asked(client: Client, there: Scene, sealed: str, **kwargs: Any) -> Any:
    url = reverse("volumes-bulk-commands", args=[there.volume.key])
    return client.post(url, {"sealed": sealed}, **kwargs)


def sealed_in(page: str) -> str:
    return re.findall(r'name="sealed" value="([^"]+)"', page)[0]


def answer(client: Client, preview: Job) -> str:
    response = client.get(reverse("volumes-bulk-answer", args=[preview.key]))
    assert response.status_code == 200
    return unescape(response.content.decode())


def test_each_row_says_how_many_steps_and_whether_they_can_be_taken_back(staff: Client) -> None:
    page = shown(staff, cached())
    assert re.search(r'2 steps, <span class="num">(about )?\d', page)
    assert "Rollback: possible with a new job." in page
    assert "no way back" not in page


def test_each_row_marks_the_step_after_which_there_is_no_way_back(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.planner.cost.IRREVERSIBLE", frozenset({"cache.detach"}))
    page = shown(staff, cached())
    assert page.count("rollback not possible from here") == 1 and "Rollback: possible" not in page


def test_the_commands_are_asked_of_the_host_by_a_preview_of_the_same_wish(staff: Client) -> None:
    there = cached()
    response = asked(staff, there, sealed_in(shown(staff, there)))
    (preview,) = Job.objects.all()
    assert preview.dry_run and preview.kind == Kind.REMOVE_CACHE
    assert Wish.from_json(preview.wish).cache is None
    assert response.url == reverse("job", args=[preview.key])


def test_in_place_the_answer_is_waited_for_and_then_shown(staff: Client) -> None:
    there = cached()
    sealed = sealed_in(shown(staff, there))
    waiting = asked(staff, there, sealed, headers=HTMX, follow=True).content.decode()
    assert "Asking the host" in waiting and 'hx-trigger="every 1s"' in waiting
    (preview,) = Job.objects.all()
    step(preview)
    end(preview)
    text = answer(staff, preview)
    assert "lvconvert -y --type cache vg0/web12" in text and "hx-trigger" not in text


def test_a_host_that_refuses_is_quoted(staff: Client) -> None:
    there = cached()
    asked(staff, there, sealed_in(shown(staff, there)))
    (preview,) = Job.objects.all()
    end(preview, State.FAILED, error={"code": "x", "message": "No.", "correction": "Wait."})
    assert "No. Wait." in answer(staff, preview)


def test_only_what_was_shown_is_asked_for(staff: Client) -> None:
    there, other = cached(), cached("other")
    sealed = sealed_in(shown(staff, there))
    assert asked(staff, other, sealed).status_code == 404
    assert asked(staff, there, "nonsense").url == reverse("volumes")
    assert "too old" in asked(staff, there, "nonsense", headers=HTMX).content.decode()
    assert not Job.objects.exists()


def test_what_touches_no_host_has_no_commands(staff: Client) -> None:
    chosen = {"action": "customer", "volume": [scene().volume.key]}
    chosen["customer"] = make.customer().key
    page = staff.post(reverse("volumes-bulk"), chosen).content.decode()
    assert "Apply to 1 volume" in page and "Exact commands" not in page
