"""A job's window on its page, on the preview's and in lists; and the one that a host gives."""

from __future__ import annotations

from datetime import time, timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.models import Job, Kind, State, Step, StepState
from jobs.queue.job_windows import window_fields
from panel.staff.jobs.window_text import rest_sentence
from storage.byte_sizes import GIB
from storage.models import Host
from tests import make
from tests.jobs.cachingagent import POOL
from tests.jobs.windows import FLUSHED, closed_window, open_window
from tests.one_line import on_one_line
from tests.scene import Scene, end, job, scene, step

pytestmark = pytest.mark.django_db
BERLIN = "Europe/Berlin"


@pytest.fixture
def there() -> Scene:
    cache = make.dm_cache(POOL, mode="writeback", dirty_bytes=GIB)
    return scene(make.lv("web12", cache=cache))


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user(staff_role="operator"))
    return client


def text_of(client: Client, name: str, *args: str) -> str:
    response = client.get(reverse(name, args=args))
    assert response.status_code == 200
    return on_one_line(response.content.decode())


def preview(there: Scene) -> Job:
    made = job(there, kind=Kind.FLUSH_CACHE, dry_run=True, wish=FLUSHED.to_json())
    args = {"vg": "vg0", "lv": "web12", "dirty_limit_bytes": 0}
    step(made, verb="cache.flush", state=StepState.PLANNED, args=args)
    end(made, State.SUCCEEDED)
    made.refresh_from_db()
    return made


def waiting(there: Scene) -> Job:
    window = closed_window()
    return job(
        there,
        kind=Kind.FLUSH_CACHE,
        wish=FLUSHED.to_json(),
        not_before=window.next_opening(timezone.now()),
        **window_fields(window),
    )


def test_a_preview_says_when_its_job_begins_and_is_done(staff: Client, there: Scene) -> None:
    made = preview(there)
    assert "Starts at any time of day." in text_of(staff, "job", made.key)
    window = closed_window(zone="UTC")
    given = {"start": f"{window.start:%H:%M}", "end": f"{window.end:%H:%M}", "zone": "UTC"}
    assert staff.post(reverse("job-window", args=[made.key]), given).status_code == 302
    page = text_of(staff, "job", made.key)
    assert f"({window})." in page and "Done between" in page
    staff.post(reverse("preview-apply", args=[made.key]))
    real = Job.objects.get(dry_run=False)
    assert (real.window, real.not_before) == (window, window.next_opening(timezone.now()))


def test_a_preview_says_where_the_flush_may_outlast_the_window(staff: Client, there: Scene) -> None:
    now = timezone.now()
    short = {
        "start": f"{now + timedelta(hours=1):%H:%M}",
        "end": f"{now + timedelta(hours=1, minutes=1):%H:%M}",
    }
    made = preview(there)
    staff.post(reverse("job-window", args=[made.key]), short)
    page = text_of(staff, "job", made.key)
    assert "It may take longer than the window. A flush that is not done when the window" in page
    assert "windows." in page


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"start": "02:00"}, "Enter both times, or leave both empty."),
        ({"start": "02:00", "end": "02:00"}, "Start and end of the window must differ."),
        ({"start": "02:00", "end": "05:00", "zone": "Mars"}, "There is no such time zone."),
    ],
)
def test_what_is_no_window_is_said(
    staff: Client, there: Scene, given: dict[str, str], said: str
) -> None:
    made = preview(there)
    response = staff.post(reverse("job-window", args=[made.key]), given)
    assert response.status_code == 422
    assert said in response.content.decode()


def test_a_job_waits_visibly_and_runs_now_when_a_person_says_so(
    staff: Client, there: Scene
) -> None:
    made = waiting(there)
    for name, *args in (("job", made.key), ("jobs",), ("host-jobs", there.host.key)):
        assert "Waits for its window: t" in text_of(staff, name, *args), name
    page = text_of(staff, "job", made.key)
    assert "The window opens:" in page and "Run now" in page and "Done between" in page
    assert staff.post(reverse("job-window", args=[made.key])).status_code == 302
    made.refresh_from_db()
    assert (made.window, made.not_before) == (None, None)


def test_who_may_only_look_sets_no_window(client: Client, there: Scene) -> None:
    made = waiting(there)
    client.force_login(make.staff_user(staff_role="read_only"))
    assert client.post(reverse("job-window", args=[made.key])).status_code == 403


def test_a_flush_that_runs_says_when_it_rests() -> None:
    flushing = Job(state=State.WAITING, **window_fields(open_window()))
    running = Step(verb="cache.flush", state=StepState.RUNNING)
    now = timezone.now()
    assert "continues in the next window" in rest_sentence(flushing, running, now)
    assert "The flush stops" in rest_sentence(flushing, running, now + timedelta(hours=2))
    assert rest_sentence(flushing, Step(verb="cache.detach"), now) == ""
    assert rest_sentence(Job(state=State.WAITING), running, now) == ""


def test_an_admin_gives_a_host_a_default_window(client: Client, there: Scene) -> None:
    url = reverse("host-cache-window", args=[there.host.key])
    given = {"start": "02:00", "end": "05:00", "zone": BERLIN}
    client.force_login(make.staff_user(staff_role="operator"))
    assert client.post(url, given).status_code == 403
    client.force_login(make.staff_user("admin@example.org"))
    said = client.post(url, given, follow=True).content.decode()
    assert f"start in the window 02:00-05:00 {BERLIN}." in said
    assert str(Host.objects.get().cache_window) == f"02:00-05:00 {BERLIN}"
    client.post(url)
    assert Host.objects.get().cache_window is None
    Host.objects.update(window_start=time(10), window_end=time(12))
    said = client.post(url, given | {"zone": "UTC"}, follow=True).content.decode()
    assert "are never open at the same time" in said
