"""What is being done to a volume, in place on its page."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.models import Job, State
from tests import make
from tests.scene import Scene, end, job, scene, step

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def work(client: Client, there: Scene, **query: str) -> HttpResponse:
    response = client.get(
        reverse("volume-current-job", args=[there.volume.key]), query, headers=HTMX
    )
    assert response.status_code == 200
    assert isinstance(response, HttpResponse)
    return response


def test_nothing_is_shown_while_nothing_is_done_and_it_looks_again(staff: Client) -> None:
    text = work(staff, scene()).content.decode()
    assert 'hx-trigger="every 5s"' in text
    assert "card" not in text


def test_the_unfinished_job_shows_itself_with_its_steps(staff: Client) -> None:
    there = scene()
    step(job(there))
    text = work(staff, there).content.decode()
    assert "Attach the cache" in text
    assert 'hx-trigger="every 1s"' in text


def test_the_point_of_no_return_is_marked_in_the_page_as_on_the_jobs_own(staff: Client) -> None:
    there = scene()
    running = job(there)
    step(running, makes_irrevocable=True)
    own = staff.get(reverse("job", args=[running.key])).content.decode()
    for text in (work(staff, there).content.decode(), own):
        assert text.count("rollback not possible from here") == 1


def test_a_preview_shows_commands_changes_and_the_button(staff: Client) -> None:
    there = scene()
    preview = job(there, dry_run=True, wish={"size_bytes": 2 * there.volume.size_bytes})
    step(preview)
    end(preview)
    text = work(staff, there, job=preview.key).content.decode()
    assert "lvconvert -y --type cache vg0/web12" in text
    assert "16\xa0GiB" in text
    assert reverse("preview-apply", args=[preview.key]) in text
    assert "hx-trigger" not in text


def test_the_end_of_a_job_makes_the_page_ask_for_its_parts_anew(staff: Client) -> None:
    there = scene()
    done = job(there)
    assert "HX-Trigger" not in work(staff, there, job=done.key, running="1")
    end(done)
    trigger = work(staff, there, job=done.key, running="1")["HX-Trigger"]
    assert json.loads(trigger) == {"volumechanged": {"target": "body"}}
    assert "HX-Trigger" not in work(staff, there, job=done.key)


def test_a_job_that_needs_a_person_leads_to_its_page(staff: Client) -> None:
    there = scene()
    stuck = job(there)
    Job.objects.filter(pk=stuck.pk).update(state=State.NEEDS_ATTENTION)
    text = work(staff, there).content.decode()
    assert "Decide on the job's page" in text


def test_a_closed_job_leaves_the_url(staff: Client) -> None:
    there = scene()
    job(there)
    page = reverse("volume", args=[there.volume.key])
    headers = {**HTMX, "HX-Current-URL": f"http://x{page}?range=6h&job=abc"}
    url = reverse("volume-current-job", args=[there.volume.key])
    response = staff.get(url, {"job": "none", "asked": "1"}, headers=headers)
    assert response["HX-Replace-Url"] == f"{page}?range=6h"


def test_a_job_of_another_volume_is_not_found(staff: Client) -> None:
    url = reverse("volume-current-job", args=[scene().volume.key])
    assert staff.get(url, {"job": job(scene()).key}).status_code == 404


def test_a_verb_asked_for_in_place_is_answered_in_place(staff: Client) -> None:
    there = scene()
    url = reverse("cache-form", args=[there.volume.key])
    data = {"size_bytes": str(2**30), "mode": "writethrough", "in_place": "1"}
    response = staff.post(url, data, headers=HTMX)
    made = Job.objects.get()
    at = reverse("volume-current-job", args=[there.volume.key])
    assert response.headers["Location"] == f"{at}?job={made.key}&asked=1"
    assert staff.post(url, data).headers["Location"] == reverse(
        "job", args=[Job.objects.latest("id").key]
    )


def test_a_wrong_form_comes_back_in_its_own_place(staff: Client) -> None:
    there = scene()
    url = reverse("cache-form", args=[there.volume.key])
    response = staff.post(url, {"mode": "writethrough", "in_place": "1"}, headers=HTMX)
    assert response.status_code == 422
    assert response["HX-Retarget"] == "#work"
    text = response.content.decode()
    assert text.lstrip().startswith('<div id="work">')
    assert "Choose a size." in text


def test_what_is_in_the_way_is_said_in_place(staff: Client) -> None:
    there = scene(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")))
    holder, preview = job(there), job(there, dry_run=True)
    end(preview)
    url = reverse("preview-apply", args=[preview.key])
    response = staff.post(url, {"in_place": "1"}, headers=HTMX)
    assert response.status_code == 409
    text = response.content.decode()
    assert "<html" not in text
    assert reverse("job", args=[holder.key]) in text
    there.host.state = "quarantined"
    there.host.save()
    refused = staff.post(
        reverse("cache-remove", args=[there.volume.key]), {"in_place": "1"}, headers=HTMX
    )
    assert refused.status_code == 422
    assert "<html" not in refused.content.decode()


def test_a_preview_that_no_worker_takes_says_so_and_what_to_do(staff: Client) -> None:
    there = scene()
    preview = job(there, dry_run=True, state=State.QUEUED)
    assert "Waiting for a free worker." in work(staff, there, job=preview.key).content.decode()
    Job.objects.update(created_at=timezone.now() - timedelta(minutes=2))
    text = work(staff, there, job=preview.key).content.decode()
    assert "No worker has answered for 2\xa0min." in text and "manage.py doctor" in text
