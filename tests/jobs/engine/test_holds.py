"""Maintenance, change windows, the global stop, and jobs for later."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.engine import holds, runner
from jobs.engine.holds import next_opening
from jobs.models import Halt, Job, State
from storage.models import Host
from tests import make
from tests.jobs.agent import TaggingAgent, running
from tests.jobs.engine.test_runner import run
from tests.jobs.sshd import Sshd
from tests.one_line import on_one_line
from tests.scene import end, scene
from tests.scene import job as job_of
from tests.scene import step as step_of

pytestmark = pytest.mark.django_db
Make = Callable[..., Sshd]


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(make.staff_user("admin@example.org"))
    return client


def in_hours(count: int) -> datetime:
    return timezone.now() + timedelta(hours=count)


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 11, 21, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("start", "end_at", "now", "opens"),
    [
        (9, 17, at(9), None),
        (9, 17, at(16, 59), None),
        (9, 17, at(17), at(9) + timedelta(days=1)),
        (9, 17, at(8), at(9)),
        (22, 4, at(23), None),
        (22, 4, at(3, 59), None),
        (22, 4, at(4), at(22)),
        (22, 4, at(21), at(22)),
    ],
)
def test_a_window_opens_every_day_also_over_midnight(
    start: int, end_at: int, now: datetime, opens: datetime | None
) -> None:
    assert next_opening(time(start), time(end_at), now) == opens


def test_no_step_begins_in_a_maintenance_and_the_host_is_not_asked(
    job: Job, agent: TaggingAgent
) -> None:
    holds.begin_maintenance(job.host, "new disks", in_hours(1))
    run(job)
    assert (job.state, agent.runs) == (State.WAITING, 0)
    assert f"{job.host.name} is in maintenance until" in job.sentence
    assert job.sentence.endswith("UTC: new disks.")
    holds.end_maintenance(job.host)
    job.refresh_from_db()
    assert job.not_before is None
    assert run(job).state == State.SUCCEEDED


def test_outside_its_window_a_job_waits_until_it_opens(job: Job, agent: TaggingAgent) -> None:
    now = timezone.now()
    start, close = (now + timedelta(hours=2)).time(), (now + timedelta(hours=3)).time()
    holds.set_window(job.host, start, close)
    run(job)
    assert (job.state, agent.runs) == (State.WAITING, 0)
    assert f"Waiting for the change window of {job.host.name}" in job.sentence
    assert job.not_before is not None
    assert timedelta(minutes=118) < job.not_before - now < timedelta(minutes=121)


def test_the_global_stop_holds_everything_and_names_who_stopped_it(
    job: Job, agent: TaggingAgent
) -> None:
    holds.stop_all(make.staff_user("admin@example.org").pk, "power work")
    holds.stop_all(None, "too late")
    run(job)
    assert (job.state, agent.runs) == (State.WAITING, 0)
    assert "All jobs are paused by admin@example.org: power work" in job.sentence
    holds.resume_all()
    assert run(job).state == State.SUCCEEDED


def test_a_step_that_runs_is_followed_to_its_end(
    job: Job, agent: TaggingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "HOLD_SECONDS", 0.0)
    agent.outcomes = [running()]
    run(job)
    holds.stop_all(None, "")
    run(job)
    assert (job.state, agent.runs) == (State.SUCCEEDED, 1)


def test_a_job_that_is_cancelled_while_it_is_held_ends(job: Job, agent: TaggingAgent) -> None:
    holds.stop_all(None, "")
    Job.objects.filter(pk=job.pk).update(cancel_requested=True)
    run(job)
    assert (job.state, agent.runs) == (State.CANCELLED, 0)


def test_a_job_for_later_is_not_taken_before(job: Job, agent: TaggingAgent) -> None:
    Job.objects.filter(pk=job.pk).update(not_before=timezone.now() + timedelta(hours=1))
    runner.run(job.pk)
    job.refresh_from_db()
    assert (job.state, agent.runs) == (State.QUEUED, 0)
    assert f"starts at {job.not_before:%Y-%m-%d %H:%M} UTC" in job.sentence


def test_an_administrator_holds_a_host_back_and_lets_it_go(admin: Client) -> None:
    host = scene().host
    until = in_hours(2).replace(second=0, microsecond=0)
    data = {"reason": "new disks", "until": f"{until:%Y-%m-%dT%H:%M}"}
    admin.post(reverse("host-maintenance", args=[host.key]), data)
    host.refresh_from_db()
    assert (host.maintenance_since is not None, host.maintenance_reason) == (True, "new disks")
    assert host.maintenance_until == until
    assert "new disks" in admin.get(reverse("host", args=[host.key])).content.decode()
    admin.post(reverse("host-maintenance-end", args=[host.key]))
    host.refresh_from_db()
    assert (host.maintenance_since, host.maintenance_reason) == (None, "")


@pytest.mark.parametrize(
    "data",
    [
        {"reason": "", "until": "2199-01-01T00:00"},
        {"reason": "new disks", "until": ""},
        {"reason": "new disks", "until": "2001-01-01T00:00"},
        {"reason": "new disks", "until": "2199-01-01T00:00"},
        {"reason": "new disks", "until": "tomorrow"},
        {"reason": "x" * 201, "until": "2001-01-01T00:00"},
    ],
)
def test_no_maintenance_begins_without_a_reason_and_an_end(
    admin: Client, data: dict[str, str]
) -> None:
    host = scene().host
    admin.post(reverse("host-maintenance", args=[host.key]), data)
    assert Host.objects.get(pk=host.pk).maintenance_since is None


def test_a_maintenance_ends_by_itself_and_its_jobs_go_on(job: Job, agent: TaggingAgent) -> None:
    holds.begin_maintenance(job.host, "new disks", in_hours(1))
    run(job)
    assert job.state == State.WAITING
    Host.objects.update(maintenance_until=timezone.now() - timedelta(seconds=1))
    holds.check_not_held(holds.read_host(job.host_id))
    holds.end_due_maintenances()
    job.refresh_from_db()
    host = Host.objects.get(pk=job.host_id)
    assert (host.maintenance_since, host.maintenance_until, host.maintenance_reason) == (
        None, None, "",
    )  # fmt: skip
    assert run(job).state == State.SUCCEEDED


def test_a_maintenance_from_before_ends_were_asked_for_lasts_until_a_person_ends_it(
    job: Job, agent: TaggingAgent
) -> None:
    Host.objects.update(maintenance_since=timezone.now() - timedelta(days=9))
    holds.end_due_maintenances()
    run(job)
    assert job.state == State.WAITING


@pytest.mark.parametrize("name", ["host", "host-jobs", "volume", "hosts", "home"])
def test_a_maintenance_is_seen_everywhere_while_it_lasts(admin: Client, name: str) -> None:
    there = scene()
    holds.begin_maintenance(there.host, "new disks", in_hours(2))
    key = {"volume": [there.volume.key]}.get(name, [there.host.key])
    url = reverse(name, args=key if name.startswith("host-") or name in ("host", "volume") else [])
    assert "maintenance until" in on_one_line(admin.get(url).content.decode())
    Host.objects.update(maintenance_until=timezone.now() - timedelta(seconds=1))
    assert "maintenance until" not in admin.get(url).content.decode()


@pytest.mark.parametrize(
    ("data", "stored"),
    [
        ({"window_start": "22:00", "window_end": "04:00"}, (time(22), time(4))),
        ({"window_start": "", "window_end": ""}, (None, None)),
        ({"window_start": "22:00", "window_end": ""}, (time(1), time(2))),
        ({"window_start": "22:00", "window_end": "22:00"}, (time(1), time(2))),
        ({"window_start": "25:00", "window_end": "04:00"}, (time(1), time(2))),
    ],
)
def test_a_window_is_set_whole_or_not_at_all(
    admin: Client, data: dict[str, str], stored: tuple[time | None, time | None]
) -> None:
    host = scene(host={"window_start": time(1), "window_end": time(2)}).host
    admin.post(reverse("host-window", args=[host.key]), data)
    host = Host.objects.get(pk=host.pk)
    assert (host.window_start, host.window_end) == stored


def test_the_stop_is_said_on_every_page_until_jobs_go_on(admin: Client) -> None:
    admin.post(reverse("jobs-stop"), {"reason": "power work"})
    assert Halt.objects.get().reason == "power work"
    for name in ("hosts", "volumes", "jobs"):
        assert (
            "All jobs are paused by admin@example.org: power work"
            in admin.get(reverse(name)).content.decode()
        )
    admin.post(reverse("jobs-resume"))
    assert not Halt.objects.exists()
    assert "All jobs are paused" not in admin.get(reverse("jobs")).content.decode()


@pytest.mark.parametrize(("given", "kept"), [("x" * 201, "x" * 200), ("a\0b", "")])
def test_a_reason_that_cannot_be_kept_is_cut_and_the_stop_stands(
    admin: Client, given: str, kept: str
) -> None:
    response = admin.post(reverse("jobs-stop"), {"reason": given}, follow=True)
    assert Halt.objects.get().reason == kept
    assert "The reason was shortened to" in response.content.decode()


def test_customers_do_not_see_the_stop() -> None:
    holds.stop_all(None, "power work")
    client = Client()
    client.force_login(make.user())
    assert "power work" not in client.get(reverse("my-volumes")).content.decode()


def ready_preview() -> Job:
    there = scene()
    preview = job_of(there, dry_run=True, fingerprint="f" * 64)
    step_of(preview)
    end(preview)
    return preview


def test_a_preview_is_confirmed_for_later_with_what_was_shown(admin: Client) -> None:
    preview = ready_preview()
    later = (timezone.now() + timedelta(days=2)).replace(second=0, microsecond=0)
    data = {"not_before": later.strftime("%Y-%m-%dT%H:%M")}
    admin.post(reverse("preview-apply", args=[preview.key]), data)
    made = Job.objects.get(dry_run=False)
    assert (made.not_before, made.fingerprint) == (later, preview.fingerprint)


def test_a_web_machine_whose_clock_runs_ahead_begins_nothing_early(
    admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    preview = ready_preview()
    tonight = (timezone.now() + timedelta(hours=6)).replace(second=0, microsecond=0)
    ahead = timezone.now() + timedelta(hours=12)
    monkeypatch.setattr("django.utils.timezone.now", lambda: ahead)
    data = {"not_before": tonight.strftime("%Y-%m-%dT%H:%M")}
    admin.post(reverse("preview-apply", args=[preview.key]), data)
    assert Job.objects.get(dry_run=False).not_before == tonight


@pytest.mark.parametrize(
    ("given", "code", "made"),
    [
        ("tomorrow", 422, 0),
        ("2199-01-01T00:00", 422, 0),
        ("2001-01-01T00:00", 302, 1),
        ("", 302, 1),
    ],
)
def test_a_time_that_is_no_time_is_refused_and_one_that_is_past_means_now(
    admin: Client, given: str, code: int, made: int
) -> None:
    url = reverse("preview-apply", args=[ready_preview().key])
    assert admin.post(url, {"not_before": given}).status_code == code
    assert Job.objects.filter(dry_run=False, not_before=None).count() == made
