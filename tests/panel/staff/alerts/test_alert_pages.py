"""The pages of alerts: what is open, one alert with its history, silences."""

from __future__ import annotations

import csv
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.alerts import alert_judge
from jobs.engine import holds
from jobs.models import Alert, AlertEvent, AlertRound, Job, Silence
from panel import tasks
from panel.deliveries.alerts import alert_routing
from panel.languages.choice import ZONE_COOKIE
from panel.models import AlertDelivery, User
from storage.models import Host, HostActivity, HostOutline
from tests import make
from tests.panel.deliveries.alerts.alert_messages import mail_route
from tests.scene import HOSTILE, Scene, job, scene, stuck_job

pytestmark = pytest.mark.django_db
SINCE = "2026-11-01T00:00:00+00:00"


@pytest.fixture
def anna() -> User:
    return make.staff_user("anna@example.org")


@pytest.fixture
def browser(anna: User) -> Client:
    client = Client()
    client.force_login(anna)
    return client


def finding(code: str, **fields: Any) -> dict[str, Any]:
    return {
        "code": code,
        "severity": "error",
        "message": f"{code} is wrong.",
        "correction": "Mend it.",
        "since": SINCE,
        **fields,
    }


def wrong(*findings: dict[str, Any], **fields: Any) -> Scene:
    """A host with these findings, judged until its alerts are open."""
    there = scene(**fields)
    HostActivity.objects.create(host=there.host, at=timezone.now() + timedelta(minutes=5))
    for each in findings:
        if each.get("volume") == "{volume}":
            each["volume"] = there.volume.key
    HostOutline.objects.create(host=there.host, findings=list(findings))
    judged()
    return there


def judged(minutes: float = 2.5) -> None:
    now = timezone.now()
    alert_judge.judge(now)
    alert_judge.judge(now + timedelta(minutes=minutes))


def text_of(browser: Client, name: str, *args: str, **query: str) -> str:
    response = browser.get(reverse(name, args=args), query)
    assert response.status_code == 200
    return response.content.decode()


def test_without_alerts_the_page_says_what_one_is(browser: Client) -> None:
    page = text_of(browser, "alerts")
    assert "No alerts yet" in page
    assert " hidden" in page[page.index('id="find"') :].partition(">")[0], "nothing to filter"


def test_open_alerts_are_listed_with_what_follows_from_them(browser: Client) -> None:
    volume = finding("ssd_lost", subject="vg0/web", volume="{volume}")
    there = wrong(finding("pv_missing", subject="vg0"), volume)
    page = text_of(browser, "alerts")
    assert "Disk of a volume group missing" in page
    assert "that follows from it" in page
    assert there.host.name in page
    rows = page.partition("<tbody>")[2]
    assert "SSD of a cache missing" not in rows
    assert (
        "SSD of a cache missing" in text_of(browser, "alerts", follows="on").partition("<tbody>")[2]
    )


def test_the_top_bar_counts_what_waits_for_a_person(browser: Client, anna: User) -> None:
    wrong(finding("pv_missing", subject="vg0"))
    assert '<span class="visually-hidden"> waiting</span>' in text_of(browser, "jobs")
    alert = Alert.objects.get()
    browser.post(reverse("alert-acknowledge", args=[alert.key]), {"reason": "Mine."})
    assert '<span class="visually-hidden"> waiting</span>' not in text_of(browser, "jobs")


def test_an_alert_shows_its_words_and_what_happened(browser: Client) -> None:
    wrong(finding("pv_missing", subject="vg0", message=f"vg0 is missing {HOSTILE}"))
    page = text_of(browser, "alert", Alert.objects.get().key)
    assert "Data on that disk cannot be read" in page
    assert "Mend it." in page
    assert "The messages are being written." in page
    assert HOSTILE not in page


def test_an_alert_says_who_was_notified_how_and_in_which_state(browser: Client) -> None:
    mail_route("ada@example.org", name="Ada")
    wrong(finding("pv_missing", subject="vg0"))
    alert_routing.route_events()
    AlertDelivery.objects.update(attempts=2, last_error="Connection refused")
    page = text_of(browser, "alert", Alert.objects.get().key)
    assert page.count("E-mail to Ada:") == 2
    assert "retrying" in page and "Connection refused" in page
    assert "has no recipient for this alert" not in page


def test_an_alert_without_recipients_says_so(browser: Client) -> None:
    mail_route("ada@example.org", name="Ada", sites=["Helsinki"])
    wrong(finding("pv_missing", subject="vg0"))
    alert = Alert.objects.get()
    old = "Nobody has acknowledged it: tier 2 is told."
    AlertEvent.objects.create(
        alert=alert, kind="escalated", is_notified=True, tier=2, rank=0, text=old
    )
    alert_routing.route_events()
    page = text_of(browser, "alert", alert.key)
    assert "Tier 1 has no recipient for this alert." in page
    assert "Tier 2 has no recipient for this alert." in page
    assert "is told." not in page and "were told" not in page
    assert "<dt>Notified</dt><dd>no one</dd>" in page


def test_an_alert_has_the_button_that_mends_its_problem(browser: Client) -> None:
    mode = finding("writeback_degraded", subject="vg0/web", volume="{volume}")
    there = wrong(finding("pv_missing", subject="vg0"), mode)
    disks = text_of(browser, "alert", Alert.objects.get(code="pv_missing").key)
    table = reverse("host-disks", args=[there.host.key]) + "#disks"
    assert f'href="{table}" aria-label="Show disks' in disks
    alert = Alert.objects.get(code="writeback_degraded")
    page = text_of(browser, "alert", alert.key)
    assert "Set to writethrough</button>" in page
    assert f'name="volume" value="{there.volume.key}"' in page
    Alert.objects.update(resolved_at=timezone.now())
    assert "Set to writethrough</button>" not in text_of(browser, "alert", alert.key)


def test_a_button_that_a_job_bars_says_which_job_it_waits_for(browser: Client) -> None:
    there = wrong(finding("writeback_degraded", subject="vg0/web", volume="{volume}"))
    job = stuck_job(there.volume, kind="set-cache")
    alert = Alert.objects.get(code="writeback_degraded")
    for page in (text_of(browser, "alert", alert.key), text_of(browser, "home")):
        button = page.split(">Set to writethrough</button>")[0].rpartition("<button")[2]
        assert "disabled" in button
        box = page.split('id="held-')[1].partition("</div>")[0]
        assert "needs a decision" in box
        assert f'href="{reverse("job", args=[job.key])}"' in box
        assert f'action="{reverse("volumes-bulk")}"' not in page


def test_the_pages_of_host_and_volume_lead_to_their_alerts(browser: Client) -> None:
    mode = finding("writeback_degraded", subject="vg0/web", volume="{volume}")
    there = wrong(mode, finding("pv_missing", subject="vg0"))
    alert = Alert.objects.get(code="writeback_degraded")
    way = f'href="{reverse("alert", args=[alert.key])}"'
    host = text_of(browser, "host", there.host.key)
    assert way in host
    assert f'href="{reverse("alert", args=[Alert.objects.get(code="pv_missing").key])}"' in host
    history = f"{reverse('alerts')}?host={there.host.key}&amp;state=all"
    assert history in host
    volume = text_of(browser, "volume", there.volume.key)
    assert way in volume
    assert f"{reverse('alerts')}?volume={there.volume.key}&amp;state=all" in volume
    Alert.objects.update(resolved_at=timezone.now())
    HostOutline.objects.update(findings=[])
    assert history in text_of(browser, "host", there.host.key)
    shown = text_of(browser, "alerts", host=there.host.key, state="all", follows="on")
    assert shown.count("resolved") >= 2


def test_volumes_that_share_a_problem_lead_to_the_list_of_their_alerts(browser: Client) -> None:
    modes = [finding("writeback_degraded", subject=f"vg0/v{n}", volume="{volume}") for n in "ab"]
    there = wrong(*modes)
    other = make.volume(label="other")
    make.placement(other, there.host, lv_name="v-b")
    second = {**modes[1], "volume": other.key}
    HostOutline.objects.update(findings=[modes[0], second])
    judged(3)
    listed = f"{reverse('alerts')}?host={there.host.key}&amp;code=writeback_degraded&amp;follows=on"
    assert listed in text_of(browser, "host", there.host.key)


def test_a_pause_of_all_jobs_that_lasts_is_an_alert_of_all_hosts(browser: Client) -> None:
    there = scene()
    later = timezone.now() + timedelta(hours=5)
    HostActivity.objects.create(host=there.host, at=later)
    Host.objects.update(last_seen_at=later, facts_at=later)
    mail_route("ben@example.org", sites=["Hel"])
    holds.stop_all(None, "The SAN is moved.")
    now = timezone.now()
    for minutes in (0, 29):
        alert_judge.judge(now + timedelta(minutes=minutes))
        assert not Alert.objects.open().exists()
    alert_judge.judge(now + timedelta(minutes=31))
    alert = Alert.objects.open().get()
    assert (alert.code, alert.host, alert.severity) == ("halt", None, "warning")
    alert_routing.route_events()
    assert AlertDelivery.objects.count() == 1, "also of whom only some hosts concern"
    tasks.send_alerts()
    assert mail.outbox[0].subject == "[Tiercel] all hosts: All jobs are paused: The SAN is moved"
    page = text_of(browser, "alert", alert.key)
    assert "All jobs are paused: The SAN is moved." in page and "Resume jobs" in page
    listed = text_of(browser, "alerts")
    assert reverse("alert", args=[alert.key]) in listed and "all hosts" in listed
    assert "all hosts" in text_of(browser, "alerts", format="csv")
    assert browser.get(reverse("api-alert", args=[alert.key])).json()["host"] is None
    text_of(browser, "alert-routes")
    text_of(browser, "home")
    holds.resume_all()
    alert_judge.judge(now + timedelta(minutes=32))
    alert.refresh_from_db()
    assert alert.resolved_at is not None


def test_jobs_that_no_worker_takes_are_an_alert_and_a_row_of_the_overview(
    browser: Client,
) -> None:
    there = scene()
    now = timezone.now()
    Host.objects.update(last_seen_at=now)
    message = "No worker took a job for 5 min though 1 is due."
    assert message not in text_of(browser, "home")
    job(there, updated_at=now - timedelta(minutes=5))
    alert_judge.judge(now)
    alert = Alert.objects.open().get(code="jobs_untaken")
    assert (alert.host, alert.severity, alert.message) == (None, "error", message)
    page = text_of(browser, "alert", alert.key)
    assert message in page and "Resume jobs" not in page
    row = text_of(browser, "home")
    assert message in row and "Nothing changes on any host" in row
    Job.objects.update(explanation="taken")
    alert_judge.judge(now + timedelta(seconds=10))
    alert_judge.judge(now + timedelta(seconds=80))
    alert.refresh_from_db()
    assert alert.resolved_at is not None


def test_what_follows_is_named_by_its_label_alone(browser: Client) -> None:
    message = "vg0/web was on a disk that is missing."
    volume = finding("ssd_lost", subject="vg0/web", volume="{volume}", message=message)
    wrong(finding("pv_missing", subject="vg0"), volume)
    page = text_of(browser, "alert", Alert.objects.get(code="pv_missing").key)
    follows = page.partition("Related problems")[2].partition("</section>")[0]
    assert "Was on a disk that is missing." in follows
    assert "vg0/web" not in follows


def test_who_acknowledges_says_why_and_the_overview_shows_it(browser: Client, anna: User) -> None:
    wrong(finding("pv_missing", subject="vg0"))
    alert = Alert.objects.get()
    act = reverse("alert-acknowledge", args=[alert.key])
    assert browser.post(act, {"reason": ""}).status_code == 422
    assert browser.post(act, {"reason": "A new disk comes.", "hours": "4"}).status_code == 302
    alert.refresh_from_db()
    assert (alert.acknowledged_by, alert.acknowledged_reason) == (anna, "A new disk comes.")
    assert alert.acknowledged_until is not None
    assert "A new disk comes." in text_of(browser, "alerts")
    home = text_of(browser, "home")
    assert reverse("alert", args=[alert.key]) in home
    assert ">Acknowledged<" in home
    host = text_of(browser, "host", alert.host.key)
    assert f'href="{reverse("alert", args=[alert.key])}"' in host
    assert "Acknowledged by anna@example.org" in host
    browser.post(reverse("alert-unacknowledge", args=[alert.key]))
    alert.refresh_from_db()
    assert alert.acknowledged_at is None
    kinds = list(AlertEvent.objects.values_list("kind", flat=True))
    assert kinds == ["unacknowledged", "acknowledged", "opened"]


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({}, 1),
        ({"state": "resolved"}, 1),
        ({"state": "all"}, 2),
        ({"state": "waiting"}, 1),
        ({"state": "acknowledged"}, 0),
        ({"state": "hushed"}, 0),
        ({"severity": "0"}, 1),
        ({"severity": "2"}, 0),
        ({"code": "pv_missing"}, 1),
        ({"code": "drift"}, 0),
        ({"host": "nowhere"}, 0),
    ],
)
def test_the_history_is_found_by_filters(
    browser: Client, query: dict[str, str], count: int
) -> None:
    there = wrong(finding("pv_missing", subject="vg0"))
    Alert.objects.update(resolved_at=timezone.now())
    HostOutline.objects.filter(host=there.host).update(
        findings=[finding("pv_missing", subject="vg1")]
    )
    judged()
    page = text_of(browser, "alerts", **query)
    assert page.partition("<tbody>")[2].count("<tr>") == count


def test_a_wrong_filter_shows_nothing_and_says_so(browser: Client) -> None:
    response = browser.get(reverse("alerts"), {"state": "gone"})
    assert response.status_code == 400
    assert "gone is not one of the available choices" in response.content.decode()


def test_the_history_is_a_file_too(browser: Client) -> None:
    there = wrong(finding("pv_missing", subject="=cmd()"))
    body = text_of(browser, "alerts", state="all", format="csv")
    (row,) = csv.DictReader(body.splitlines())
    assert (row["code"], row["data_at_risk"], row["host"]) == (
        "pv_missing",
        "True",
        there.host.name,
    )
    assert row["subject"] == "'=cmd()"
    counts = [row[f"messages_{state}"] for state in ("delivered", "waiting", "given_up")]
    assert counts == ["0", "0", "0"], "there are no recipients"
    mail_route("ben@example.org")
    AlertEvent.objects.update(routed_at=None)
    alert_routing.route_events()
    body = text_of(browser, "alerts", state="all", format="csv")
    (row,) = csv.DictReader(body.splitlines())
    assert row["messages_waiting"] == "1"


def test_a_silence_needs_something_a_reason_and_an_end(browser: Client, anna: User) -> None:
    there = wrong()
    new = reverse("silence-new")
    page = text_of(browser, "silence-new", host=there.host.key, code="drift")
    assert f'value="{there.host.name}"' in page
    assert browser.post(new, {"reason": "x", "hours": "4"}).status_code == 422
    assert browser.post(new, {"code": "drift", "hours": "4"}).status_code == 422
    assert browser.post(new, {"code": "drift", "reason": "x", "hours": ""}).status_code == 422
    given = {"host": there.host.name, "volume": there.volume.label, "code": "drift"}
    assert browser.post(new, {**given, "reason": "Being built.", "hours": "4"}).status_code == 302
    quiet = Silence.objects.get()
    assert (quiet.host, quiet.volume, quiet.code) == (there.host, there.volume, "drift")
    assert (quiet.author, quiet.reason) == (anna, "Being built.")
    assert timedelta(hours=3) < quiet.until - timezone.now() <= timedelta(hours=4)
    assert "Being built." in text_of(browser, "silences")
    assert browser.post(reverse("silence-end", args=[quiet.key])).status_code == 302
    quiet.refresh_from_db()
    assert (quiet.until <= timezone.now(), quiet.ended_by) == (True, anna)


def test_no_problem_began_after_its_alert_was_opened(browser: Client) -> None:
    wrong(finding("array_degraded"))
    alert = Alert.objects.open().get()
    assert "Wrong since" in text_of(browser, "alert", alert.key)
    assert alert.opened_at is not None
    Alert.objects.update(since=alert.opened_at + timedelta(minutes=9))
    assert "Wrong since" not in text_of(browser, "alert", alert.key)


def test_the_page_says_where_alerts_are_not_judged(browser: Client) -> None:
    wrong()
    assert "have not been judged" not in text_of(browser, "alerts")
    AlertRound.objects.update(at=timezone.now() - timedelta(minutes=10))
    assert "have not been judged" in text_of(browser, "alerts")


def test_a_reason_and_its_end_are_two_sentences(browser: Client) -> None:
    wrong(finding("pv_missing", subject="vg0"))
    alert = Alert.objects.get()
    act = reverse("alert-acknowledge", args=[alert.key])
    browser.post(act, {"reason": "swap on Tuesday", "hours": "4"})
    assert "swap on Tuesday. Until 20" in text_of(browser, "alert", alert.key)


def test_an_end_is_noted_in_the_zone_that_the_rest_of_the_page_has(browser: Client) -> None:
    wrong(finding("pv_missing", subject="vg0"))
    alert = Alert.objects.get()
    browser.cookies[ZONE_COOKIE] = "Asia/Tokyo"
    act = reverse("alert-acknowledge", args=[alert.key])
    browser.post(act, {"reason": "swap on Tuesday", "hours": "4"})
    page = text_of(browser, "alert", alert.key)
    assert re.search(r"swap on Tuesday\. Until [\d-]+ [\d:]+ JST", page)
    assert " UTC" not in page


def test_kinds_are_offered_by_what_they_are_about(browser: Client) -> None:
    for name in ("alerts", "silence-new"):
        groups = re.findall(
            r'<optgroup label="([^"]+)">(.*?)</optgroup>', text_of(browser, name), re.S
        )
        kinds = dict(groups)
        assert list(kinds) == ["Disks and arrays", "Caches", "Volumes", "Panel and jobs", "Hosts"]
        assert "Disk failing" in kinds["Disks and arrays"] and "Volume slow" in kinds["Volumes"]
        assert "Worker silent" in kinds["Panel and jobs"] and "Clock wrong" in kinds["Hosts"]
        names = re.findall(r"<option[^>]*>([^<]+)", "".join(kinds.values()))
        assert len(set(names)) == len(names), "no name twice"


def test_who_looks_after_an_alert_looks_after_what_follows_from_it(browser: Client) -> None:
    effect = finding("ssd_lost", subject="vg0/web", volume="{volume}")
    there = wrong(finding("pv_missing", subject="vg0"), effect)
    cause = Alert.objects.get(code="pv_missing")
    browser.post(reverse("alert-acknowledge", args=[cause.key]), {"reason": "Mine."})
    page = text_of(browser, "host", there.host.key)
    assert page.count("Acknowledged by anna@example.org") == 2


def test_an_alert_keeps_the_name_of_its_gravest_state(browser: Client) -> None:
    there = wrong(finding("array_degraded", subject="md0", message="md0 lacks a disk."))
    rebuilt = finding("array_recovering", subject="md0", severity="warning", message="94 % done.")
    HostOutline.objects.filter(host=there.host).update(
        findings=[{**rebuilt, "since": "2026-11-02T00:00:00+00:00"}]
    )
    judged()
    alert = Alert.objects.get()
    page = text_of(browser, "alert", alert.key)
    assert alert.code == "array_recovering"
    assert "Array degraded</h1>" in page and "94 % done." in page
    assert "2026-11-01 00:00 UTC" in page, "wrong since it was degraded"
    HostOutline.objects.update(findings=[])
    Host.objects.update(last_seen_at=timezone.now() + timedelta(minutes=5))
    judged(minutes=4)
    page = text_of(browser, "alerts", state="resolved", code="array_degraded")
    assert "Array degraded" in page and "md0 lacks a disk." in page and "94 %" not in page
