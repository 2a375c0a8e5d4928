"""Pages of jobs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from jobs.models import Line, State
from storage.byte_sizes import GIB
from storage.discovery.ingest import apply_facts
from storage.inventory.facts import KernelIdentity
from tests import make
from tests.scene import HOSTILE, Scene, end, job, scene, step

pytestmark = pytest.mark.django_db

OP_ID = "6a7c1e4e-1b57-4c0e-8a53-90e54ab1c009"


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def page(client: Client, name: str, *args: str, **query: str) -> str:
    response = client.get(reverse(name, args=args), query)
    assert response.status_code == 200
    return response.content.decode()


def test_jobs_are_invisible_to_people_who_are_not_staff(client: Client) -> None:
    there = job(scene())
    client.force_login(make.user())
    assert client.get(reverse("jobs")).status_code == 404
    for name in ("job", "job-status", "job-lines"):
        assert client.get(reverse(name, args=[there.key])).status_code == 404


def test_the_list_hides_previews_unless_asked(staff: Client) -> None:
    there = scene()
    job(there, dry_run=True)
    assert "No jobs yet" in page(staff, "jobs")
    assert "(preview)" in page(staff, "jobs", previews="1")


@pytest.mark.parametrize("state", [State.SUCCEEDED, State.FAILED, State.CANCELLED])
def test_a_job_that_is_over_asks_for_nothing_more(staff: Client, state: State) -> None:
    there = job(scene())
    end(there, state)
    text = page(staff, "job", there.key)
    for name in ("job-status", "job-lines"):
        assert reverse(name, args=[there.key]) not in text
    assert "http-equiv" not in text
    assert there.get_state_display() in text


def test_a_running_job_renews_itself_with_and_without_javascript(staff: Client) -> None:
    there = job(scene())
    text = page(staff, "job", there.key)
    assert '<noscript><meta http-equiv="refresh"' in text
    assert reverse("job-status", args=[there.key]) in text
    assert f"{reverse('job-lines', args=[there.key])}?after=0" in text


def test_a_job_shows_steps_with_commands_progress_and_error(staff: Client) -> None:
    there = job(scene())
    progress = {"label": "Zeroing", "done_bytes": GIB, "total_bytes": 4 * GIB}
    step(there, state="running", op_id=OP_ID, started_at=timezone.now(), progress=progress)
    step(there, n=2, error={"message": "cut off", "correction": "try again"})
    text = page(staff, "job", there.key)
    assert "lvconvert -y --type cache vg0/web12" in text
    assert f'max="{4 * GIB}" value="{GIB}"' in text
    assert "1\xa0GiB of 4\xa0GiB" in text
    assert "cut off" in text
    assert "try again" in text


def test_a_failed_job_shows_cause_and_correction(staff: Client) -> None:
    there = job(scene())
    end(there, State.FAILED, error={"code": "x", "message": "no room", "correction": "free some"})
    text = page(staff, "job", there.key)
    assert "no room" in text
    assert "free some" in text


def test_output_is_shown_as_text(staff: Client) -> None:
    there = job(scene(label=HOSTILE))
    Line.objects.create(job=there, n=1, text=HOSTILE)
    step(there, title=HOSTILE, commands=[{"argv": [], "shell": HOSTILE}])
    for name in ("job", "job-lines", "job-status"):
        assert HOSTILE not in page(staff, name, there.key)


def test_the_tail_gives_only_new_lines_and_the_next_tail(staff: Client) -> None:
    there = job(scene())
    for n in (1, 2, 3):
        Line.objects.create(job=there, n=n, text=f"line {n}")
    text = page(staff, "job-lines", there.key, after="2")
    assert "line 2" not in text
    assert "line 3" in text
    assert "?after=3" in text


def test_the_tail_ends_with_the_job(staff: Client) -> None:
    there = job(scene())
    Line.objects.create(job=there, n=1, text="the last line")
    end(there)
    text = page(staff, "job-lines", there.key, after="0")
    assert "the last line" in text
    assert "hx-get" not in text


@pytest.mark.parametrize("after", ["x", "-1", "9" * 30, "٣", ""])
def test_a_senseless_counter_begins_at_the_start(staff: Client, after: str) -> None:
    there = job(scene())
    Line.objects.create(job=there, n=1, text="first")
    assert "first" in page(staff, "job-lines", there.key, after=after)


def test_a_long_output_starts_with_its_end(staff: Client) -> None:
    there = job(scene())
    Line.objects.bulk_create(Line(job=there, n=n, text=f"line {n}.") for n in range(1, 701))
    text = page(staff, "job", there.key)
    assert '<span class="num">200</span> are not shown' in text
    assert "line 200." not in text
    assert "line 700." in text


def test_a_volumes_page_loads_its_jobs_as_a_fragment(staff: Client) -> None:
    there = scene()
    made = job(there)
    assert reverse("job", args=[made.key]) in page(staff, "volume-jobs", there.volume.key)


def test_a_cancelled_job_that_goes_back_shows_no_error(staff: Client) -> None:
    there = job(scene(), cancel_requested=True, is_rolling_back=True, error={"after_step": 1})
    text = page(staff, "job-status", there.key)
    assert "Cancelling: rolling back." in text
    assert 'role="alert"' not in text


def test_a_job_that_waits_for_its_turn_leads_to_the_job_that_has_it(staff: Client) -> None:
    there, other = scene(), scene(label="db1")
    holder = job(other, state=State.NEEDS_ATTENTION)
    step(holder, state="running", op_id=OP_ID, vg_uuid=make.VG_UUID, holds_vg=True)
    waiting = job(there, state=State.WAITING)
    text = page(staff, "job", waiting.key)
    assert "Waiting for another job that is changing the volume group" in text
    assert reverse("job", args=[holder.key]) in text


def test_a_job_that_needs_a_person_says_what_it_keeps_from_others(staff: Client) -> None:
    stuck = job(scene(), state=State.NEEDS_ATTENTION, error={"code": "x", "message": "cut"})
    step(stuck, state="running", op_id=OP_ID, args={"vg": "vg0"}, holds_vg=True)
    text = page(staff, "job", stuck.key)
    assert (
        "No job may change the volume group vg0 either: “Attach the cache” may still be running "
        "there."
    ) in text
    assert "without checking the host. The result of “Attach the cache” stays unknown." in text


def test_read_only_staff_open_the_job_and_see_first_which_role_may_decide(
    client: Client,
) -> None:
    stuck = job(scene(), state=State.NEEDS_ATTENTION, error={"code": "x", "message": "cut"})
    client.force_login(make.staff_user(staff_role="read_only"))
    overview = page(client, "overview")
    assert "Open job" in overview and "Decide" not in overview
    text = page(client, "job", stuck.key)
    assert text.index("Requires the operator role.") < text.index(">Resume</button>")
    field = text[text.index('name="why"') :].partition(">")[0]
    assert "disabled" in field and "required" not in field
    client.force_login(make.staff_user(staff_role="operator"))
    assert "Decide" in page(client, "overview")


def test_a_job_says_what_was_changed_and_by_which_command(staff: Client) -> None:
    there = job(scene())
    commands = [{"argv": [], "shell": "lvcreate", "rc": 0}, {"argv": [], "shell": "lvs", "rc": 5}]
    step(there, state="failed", op_id=OP_ID, commands=commands)
    end(there, State.FAILED, error={"code": "x", "message": "no", "correction": "yes"})
    text = page(staff, "job", there.key)
    assert "Failed to add a cache to web12 disk" in text
    assert "1 step failed." in text
    assert '<span class="command-rc command-bad">  # exit 5</span>' in text


def test_a_step_that_grows_tells_what_is_left_of_it(staff: Client) -> None:
    there = job(scene())
    progress = {"label": "zeroed", "done_bytes": GIB, "total_bytes": 2 * GIB}
    begun = timezone.now() - timedelta(hours=10)
    step(there, state="running", op_id=OP_ID, started_at=begun, progress=progress)
    assert "about 10\xa0h left in this step" in page(staff, "job-status", there.key)


def test_a_job_with_steps_to_come_tells_what_is_left_in_all(staff: Client) -> None:
    there = job(scene())
    step(there, state="running", op_id=OP_ID, started_at=timezone.now())
    alone = page(staff, "job-status", there.key)
    assert "left in all" not in alone
    step(there, n=2)
    assert "left in all" in page(staff, "job-status", there.key)


def test_a_job_that_ended_without_steps_has_no_empty_cards(staff: Client) -> None:
    there = job(scene())
    assert 'id="steps"' in page(staff, "job", there.key)
    end(there, State.FAILED, error={"code": "x", "message": "no", "correction": "yes"})
    text = page(staff, "job", there.key)
    assert 'id="steps"' not in text and 'id="output"' not in text
    Line.objects.create(job=there, n=1, text="said")
    assert 'id="output"' in page(staff, "job", there.key)


def test_many_steps_and_lines_cost_no_more_queries_than_few(staff: Client) -> None:
    there = job(scene())
    page(staff, "job", there.key)
    asked = []
    for count in (1, 30):
        for n in range(count, 2 * count):
            step(there, n=n)
            Line.objects.create(job=there, n=n, text="said")
        with CaptureQueriesContext(connection) as queries:
            page(staff, "job", there.key)
        asked.append(len(queries))
    assert asked[0] == asked[1]


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("add-cache", "cache-form"),
        ("replace-cache", "cache-replace"),
        ("extend-volume", "volume-extend"),
    ],
)
def test_a_job_without_room_leads_to_its_form_again_and_to_where_room_is_made(
    staff: Client, kind: str, form: str
) -> None:
    there = scene()
    failed = job(there, kind=kind)
    end(failed, State.FAILED, error={"code": "no_space", "message": "no room", "correction": "x"})
    text = page(staff, "job", failed.key)
    assert f'href="{reverse(form, args=[there.volume.key])}">Try again with another size' in text
    assert f'href="{reverse("host", args=[there.host.key])}">Free space on' in text


def test_what_failed_otherwise_can_be_tried_again_and_what_succeeded_not(staff: Client) -> None:
    there = scene()
    failed, done = job(there), job(scene())
    end(failed, State.FAILED, error={"code": "stale", "message": "changed", "correction": "x"})
    end(done)
    assert ">Try again</a>" in page(staff, "job", failed.key)
    assert "Try again" not in page(staff, "job", done.key)


# --- Faults of the kernel ------------------------------------------------------------------------


def on_kernel(there: Scene, release: str) -> None:
    facts = make.facts(there.lv, kernel=KernelIdentity(release))
    apply_facts(there.host, make.inventory(facts), timezone.now())


def test_a_preview_warns_of_what_its_steps_meet_on_this_kernel(staff: Client) -> None:
    there = scene()
    on_kernel(there, "4.9.330")
    preview = job(there, dry_run=True)
    step(preview, verb="cache.attach")
    end(preview)
    text = page(staff, "job", preview.key)
    assert "Kernel 4.9.330: Before 4.12, a full LVM cache is hardly faster" in text
    on_kernel(there, "6.16.4")
    assert "Kernel " not in page(staff, "job", preview.key)


@pytest.mark.parametrize(("healthy", "warns"), [(True, False), (False, True)])
def test_a_preview_of_a_cache_warns_of_an_ssd_mirror_that_lacks_a_disk(
    staff: Client, healthy: bool, warns: bool
) -> None:
    there = scene(pvs=(make.pv(), make.fast_pv(healthy=healthy)))
    preview = job(there, dry_run=True, kind="add-cache")
    step(preview, verb="cache.attach")
    end(preview)
    text = page(staff, "job", preview.key)
    assert ("md0 lacks a disk" in text) is warns
    assert ("The cache is lost if one more SSD fails; no data is lost" in text) is warns


def test_a_preview_that_the_kernel_refuses_leads_to_its_faults(staff: Client) -> None:
    there = scene()
    preview = job(there, dry_run=True)
    error = {"code": "kernel_fault", "message": "Kernel 5.15.2: it loses data.", "correction": "-"}
    end(preview, State.FAILED, error=error)
    text = page(staff, "job", preview.key)
    assert "it loses data" in text and reverse("host-history", args=[there.host.key]) in text


def test_the_button_of_a_preview_stays_in_view_and_what_is_not_known_yet_is_marked(
    staff: Client,
) -> None:
    preview = job(scene(), dry_run=True)
    step(
        preview, commands=[{"argv": ["lvchange"], "shell": "lvchange --addtag <each range> vg0/x"}]
    )
    end(preview)
    text = page(staff, "job", preview.key)
    assert 'class="actions preview-confirm' in text
    assert 'title="known when the step runs">&lt;each range&gt;</em>' in text
    assert "Values in &lt; &gt; are known when the step runs." in text
