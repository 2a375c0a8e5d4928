"""Programs of staff read alerts, acknowledge and silence them, and enter their recipients."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from jobs.models import AlertEvent, Silence
from panel.accounts.authentication.second_factor import unseal
from panel.models import AlertDelivery, AlertRoute, ApiToken, SecurityEntry, SecurityKind
from tests import make
from tests.panel.api.asking import problem, staff
from tests.panel.deliveries.alerts.alert_messages import (
    SECRET,
    alert,
    event,
    mail_route,
    route_to,
    routed,
)

pytestmark = pytest.mark.django_db


def later(**span: float) -> str:
    return (timezone.now() + timedelta(**span)).isoformat()


def test_open_alerts_and_the_history_are_listed() -> None:
    there = alert(make.host(name="stor-hel-03"), volume=make.volume(label="web12"))
    alert(resolved_at=timezone.now())
    [item] = staff().get("/alerts/").json()["items"]
    assert (item["key"], item["code"], item["data_at_risk"]) == (there.key, "array_degraded", True)
    assert (item["host"]["name"], item["volume"]["name"]) == ("stor-hel-03", "web12")
    assert len(staff().get("/alerts/?state=all").json()["items"]) == 2
    assert staff().get("/alerts/?state=resolved&at_risk=false").json()["items"] == []
    assert len(staff().get("/alerts/?host=stor-hel-03&code=array_degraded").json()["items"]) == 1
    assert staff().get("/alerts/?state=gone").status_code == 400


def test_an_alert_comes_with_its_events_and_what_follows() -> None:
    there = alert()
    event(there)
    effect = alert(there.host, cause=there, code="writeback_degraded")
    body = staff().get(f"/alerts/{there.key}").json()
    assert [(each["kind"], each["told"]) for each in body["events"]] == [("opened", True)]
    assert [each["key"] for each in body["effects"]] == [effect.key]
    assert staff().get(f"/alerts/{effect.key}").json()["cause"]["key"] == there.key


def test_an_alert_says_which_messages_went_to_whom() -> None:
    unheard = alert(notified_at=timezone.now())
    mail_route("anna@example.org")
    route_to("https://hooks.example.org/x", name="On call")
    there = alert()
    event(there)
    routed()
    event(there, kind="worsened")
    routed()
    hook = AlertDelivery.objects.filter(route__kind="webhook")
    hook.filter(pk=min(hook.values_list("pk", flat=True))).update(delivered_at=timezone.now())
    gone = AlertDelivery.objects.filter(route__kind="email").order_by("pk").last()
    assert gone is not None
    AlertDelivery.objects.filter(pk=gone.pk).update(given_up_at=timezone.now())
    none, some = (
        {"delivered": n, "waiting": m, "given_up": g} for n, m, g in ((0, 0, 0), (1, 2, 1))
    )
    items = {each["key"]: each for each in staff().get("/alerts/").json()["items"]}
    assert (items[unheard.key]["messages"], items[there.key]["messages"]) == (none, some)
    assert items[unheard.key]["told_at"], "due, but without a recipient"
    body = staff().get(f"/alerts/{there.key}").json()
    assert body["messages"] == some
    assert sorted(
        (each["route"]["name"], each["kind"], each["state"]) for each in body["deliveries"]
    ) == [
        ("On call", "webhook", "delivered"),
        ("On call", "webhook", "waiting"),
        ("anna@example.org", "email", "given_up"),
        ("anna@example.org", "email", "waiting"),
    ]
    assert staff().get(f"/alerts/{unheard.key}").json()["deliveries"] == []


def test_an_operator_acknowledges_and_takes_it_back() -> None:
    there = alert()
    path = f"/alerts/{there.key}/acknowledgement"
    assert staff("operator").send("put", path, {}).status_code == 422
    assert (
        staff("operator").send("put", path, {"reason": "x", "until": later(days=-1)}).status_code
        == 422
    )
    body = staff("operator").send("put", path, {"reason": "Mine.", "until": later(hours=2)}).json()
    assert body["acknowledgement"]["reason"] == "Mine."
    assert staff("operator").send("delete", path).json()["acknowledgement"] is None
    assert list(AlertEvent.objects.values_list("kind", flat=True)) == [
        "unacknowledged",
        "acknowledged",
    ]
    there.resolved_at = timezone.now()
    there.save()
    assert staff("operator").send("put", path, {"reason": "x"}).status_code == 409


@pytest.mark.parametrize(
    "body",
    [
        {"reason": "x", "until": "soon"},
        {"reason": "x"},
        {"code": "drift", "reason": "x"},
        {"code": "drift", "until": "2020-01-01T00:00:00Z", "reason": "x"},
        {"host": "nowhere", "until": "2099-01-01T00:00:00Z", "reason": "x"},
    ],
)
def test_a_silence_that_says_too_little_is_refused(body: dict[str, Any]) -> None:
    assert staff().send("post", "/silences/", body).status_code == 422
    assert not Silence.objects.exists()


def test_a_silence_is_made_listed_and_ended() -> None:
    host = make.host()
    given = {"host": host.name, "code": "drift", "reason": "Built.", "until": later(hours=1)}
    made = staff("operator").send("post", "/silences/", given)
    assert made.status_code == 201
    key = made.json()["key"]
    assert made["Location"] == f"/api/v1/silences/{key}"
    [item] = staff().get("/silences/").json()["items"]
    assert (item["host"]["name"], item["code"], item["active"]) == (host.name, "drift", True)
    assert staff("operator").send("delete", f"/silences/{key}").json()["active"] is False
    assert Silence.objects.get().ended_by is not None


def test_a_silence_is_ended_and_stays_in_the_list() -> None:
    quiet = Silence.objects.create(code="drift", reason="x", until=timezone.now() + timedelta(1))
    ended = staff("operator").send("post", f"/silences/{quiet.key}/end")
    assert (ended.status_code, ended.json()["active"]) == (200, False)
    assert [each["url"] for each in staff().get("/silences/").json()["items"]] == [
        f"/api/v1/silences/{quiet.key}"
    ]


def test_data_at_risk_is_a_filter_by_the_name_of_its_field() -> None:
    there = alert()
    for name in ("data_at_risk", "at_risk"):
        found = staff().get("/alerts/", **{name: "true"}).json()["items"]
        assert [each["key"] for each in found] == [there.key]
        assert staff().get("/alerts/", **{name: "false"}).json()["items"] == []
        problem(staff().get("/alerts/", **{name: "yes"}), 400, "invalid_parameter")


def test_a_route_takes_keys_and_shows_references() -> None:
    host, person = make.host(), make.staff_user("ben@example.org")
    body = {"name": "Ben", "kind": "email", "person": person.key, "hosts": [host.key]}
    made = staff().send("post", "/alert-routes/", body)
    assert made.status_code == 201, made.content
    assert made.json()["person"]["email"] == "ben@example.org"
    assert made.json()["hosts"] == [
        {"key": host.key, "url": f"/api/v1/hosts/{host.key}", "name": host.name}
    ]
    namesake = make.host(name=host.key)
    again = staff().send("patch", made.json()["url"].removeprefix("/api/v1"), {"hosts": [host.key]})
    assert [each["key"] for each in again.json()["hosts"]] == [host.key] != [namesake.key]


def test_a_kind_that_no_alert_can_have_is_neither_silenced_nor_looked_for() -> None:
    until = (timezone.now() + timedelta(hours=1)).isoformat()
    body = {"code": "no_such_problem", "reason": "Known.", "until": until}
    answer = staff().send("post", "/silences/", body)
    assert [each["pointer"] for each in answer.json()["errors"]] == ["/code"]
    assert not Silence.objects.exists()
    assert staff().get("/alerts/?code=no_such_problem").status_code == 400
    alert(code="of_a_newer_agent")
    body["code"] = "of_a_newer_agent"
    assert staff().send("post", "/silences/", body).status_code == 201


def test_a_change_of_recipients_is_in_the_security_log_with_its_person() -> None:
    program = staff()
    given = {"name": "Pager", "kind": "slack", "address": "https://example.org/hook"}
    path = f"/alert-routes/{program.send('post', '/alert-routes/', given).json()['key']}"
    program.send("patch", path, {"on": False})
    program.send("delete", path)
    entries = SecurityEntry.objects.filter(kind=SecurityKind.ALERT_ROUTE).order_by("id")
    by_token = f", by token {ApiToken.objects.get().key}"
    assert all(each.detail.endswith(by_token) for each in entries)
    assert [(each.actor, each.detail.removesuffix(by_token)) for each in entries] == [
        (program.user.email, "Pager (Slack) added, to example.org"),
        (program.user.email, "Pager (Slack) changed, switched off"),
        (program.user.email, "Pager (Slack) deleted, switched off"),
    ]
    assert "hook" not in "".join(each.detail for each in entries)


def test_a_route_is_made_changed_tested_and_deleted() -> None:
    given = {"name": "PagerDuty", "kind": "webhook", "address": "https://example.org/hook"}
    made = staff().send("post", "/alert-routes/", given)
    assert made.status_code == 201, made.content
    body = made.json()
    route = AlertRoute.objects.get()
    assert unseal(route.secret) == body["secret"]
    assert "example.org" not in json.dumps(body)
    path = f"/alert-routes/{body['key']}"
    narrowed = staff().send("patch", path, {"most_rank": 0, "sites": ["Hel"]}).json()
    assert (narrowed["most_rank"], narrowed["sites"], "secret" in narrowed) == (0, ["Hel"], False)
    off = staff().send("patch", path, {"on": False}).json()
    assert off == {**narrowed, "on": False}
    renamed = staff().send("patch", path, {"name": "Pager"}).json()
    assert renamed == {**off, "name": "Pager"}
    assert staff().send("patch", path, {"on": True}).json() == {**renamed, "on": True}
    assert staff().send("post", f"{path}/test").status_code == 202
    assert AlertDelivery.objects.get().purpose == "test"
    assert staff().send("delete", path).status_code == 204
    assert not AlertRoute.objects.exists()


@pytest.mark.parametrize(
    ("before", "changes", "is_kept"),
    [
        ("ntfy", {"address": "https://ntfy.example.org/other"}, True),
        ("ntfy", {"address": "https://NTFY.example.org:443/topic"}, True),
        ("ntfy", {"address": "https://mine.example.net/topic"}, False),
        ("ntfy", {"address": "https://ntfy.example.org:8443/topic"}, False),
        ("webhook", {"kind": "ntfy"}, False),
        ("webhook", {"kind": "slack"}, False),
        ("webhook", {"address": "https://mine.example.net/topic"}, True),
    ],
)
def test_a_secret_that_is_sent_does_not_follow_to_another_server_or_kind(
    before: str, changes: dict[str, str], is_kept: bool
) -> None:
    route = route_to("https://ntfy.example.org/topic", before)
    assert staff().send("patch", f"/alert-routes/{route.key}", changes).status_code == 200
    kept = AlertRoute.objects.get().secret
    assert (bool(kept) and unseal(kept) == SECRET) is is_kept


def test_a_token_for_matrix_is_entered_again_for_another_server() -> None:
    route = route_to("https://m.example.org/send", "matrix", "syt_token")
    elsewhere = {"address": "https://mine.example.net/send"}
    answer = staff().send("patch", f"/alert-routes/{route.key}", elsewhere)
    assert "/secret" in [each["pointer"] for each in answer.json()["errors"]]
    assert unseal(AlertRoute.objects.get().secret) == "syt_token"


WHOLE_ROUTE = {
    **{"name": "x", "kind": "slack", "person": None, "address": None, "secret": None, "on": True},
    **{"tier": 1, "most_rank": 2, "hosts": [], "sites": [], "tags": [], "zone": "UTC"},
    **{"quiet_start": None, "quiet_end": None, "risk_pierces": True, "digest_hour": None},
}


def test_a_put_of_a_route_names_each_field_that_it_lacks() -> None:
    route = route_to("https://example.org/hook", "slack")
    asking, path = staff(), f"/alert-routes/{route.key}"
    for name in WHOLE_ROUTE:
        body = {other: value for other, value in WHOLE_ROUTE.items() if other != name}
        refused = asking.send("put", path, body)
        assert refused.status_code == 422
        assert [each["pointer"] for each in refused.json()["errors"]] == [f"/{name}"]
    assert asking.send("put", path, WHOLE_ROUTE).json()["name"] == "x"
    assert unseal(AlertRoute.objects.get().url) == "https://example.org/hook"


def test_a_site_may_have_a_comma_in_its_name() -> None:
    site = 'Frankfurt, "FRA" 3'
    given = {"name": "Pager", "kind": "slack", "address": "https://example.org/hook"}
    made = staff().send("post", "/alert-routes/", {**given, "sites": [site, "Hel"]})
    assert made.json()["sites"] == [site, "Hel"]
    assert AlertRoute.objects.get().sites == [site, "Hel"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"kind": "email"}, "/person"),
        ({"kind": "email", "person": "unknown@example.org"}, "/person"),
        ({"kind": "slack"}, "/address"),
        ({"kind": "slack", "address": "http://example.org/"}, "/address"),
        ({"kind": "slack", "address": "file:///etc/passwd"}, "/address"),
        ({"kind": "webhook", "address": "https://example.org/", "secret": "abc"}, "/secret"),
        ({"kind": "slack", "address": "https://example.org/", "zone": "Mars"}, "/zone"),
        ({"kind": "slack", "address": "https://example.org/", "hosts": ["gone"]}, "/hosts"),
        (
            {"kind": "slack", "address": "https://example.org/", "quiet_start": "22:00"},
            "/quiet_end",
        ),
        (
            {
                "kind": "slack",
                "address": "https://example.org/",
                "quiet_start": "22:00",
                "quiet_end": "22:00",
            },
            "/quiet_end",
        ),
        ({"kind": "ntfy", "address": "http://127.0.0.1:22/"}, "/address"),
        ({"kind": "ntfy", "address": "https://10.0.0.1/"}, "/address"),
        ({"kind": "ntfy", "address": "https://example.org/", "secret": "tk_a\r\nX: 1"}, "/secret"),
        ({"kind": "ntfy", "address": "https://example.org/", "secret": "tk_é"}, "/secret"),
        ({"kind": "matrix", "address": "https://example.org/"}, "/secret"),
    ],
)
def test_a_route_that_leads_nowhere_is_refused(body: dict[str, Any], pointer: str) -> None:
    answer = staff().send("post", "/alert-routes/", {"name": "x", **body})
    assert answer.status_code == 422
    assert pointer in [each["pointer"] for each in answer.json()["errors"]]


def test_the_messages_to_a_route_are_listed_and_one_that_was_given_up_is_sent_again() -> None:
    route, there = mail_route(), alert()
    event(there)
    (row,) = routed()
    AlertDelivery.objects.filter(pk=row.pk).update(
        attempts=34, given_up_at=timezone.now(), last_error="The mail server refused."
    )
    path = f"/alert-routes/{route.key}/messages"
    [item] = staff().get(path).json()["items"]
    assert (item["key"], item["state"], item["attempts"]) == (row.key, "given_up", 34)
    assert (item["error"], item["next_at"], [each["key"] for each in item["alerts"]]) == (
        "The mail server refused.",
        None,
        [there.key],
    )
    answer = staff().send("post", f"{path}/{row.key}/again")
    assert (answer.status_code, answer.json()["state"]) == (202, "waiting")
    row.refresh_from_db()
    assert (row.attempts, row.given_up_at) == (0, None)
    other = mail_route("ben@example.org")
    stranger = f"/alert-routes/{other.key}/messages/{row.key}/again"
    assert staff().send("post", stranger).status_code == 404


def test_recipients_set_their_own_quiet_hours_and_pause() -> None:
    program = staff("operator")
    mine = AlertRoute.objects.create(name="Me", kind="email", user=program.user, most_rank=0)
    others = mail_route("ben@example.org")
    [item] = program.get("/alert-routes/own").json()["items"]
    path = f"/alert-routes/own/{mine.key}"
    assert (item["url"], item["paused_until"]) == (f"/api/v1{path}", None)
    until = later(days=3)
    given = {"zone": "Europe/Berlin", "quiet_start": "22:00", "quiet_end": "07:00"}
    changed = program.send("patch", path, {**given, "paused_until": until})
    assert changed.status_code == 200, changed.content
    mine.refresh_from_db()
    assert (mine.zone, mine.is_paused, mine.most_rank) == ("Europe/Berlin", True, 0)
    stays = program.send("patch", path, {"risk_pierces": False}).json()
    assert (stays["zone"], stays["paused_until"]) == (
        "Europe/Berlin",
        changed.json()["paused_until"],
    )
    whole = {**given, "risk_pierces": True, "paused_until": None}
    problem(program.send("put", path, given), 422, "invalid")
    assert program.send("put", path, whole).json()["paused_until"] is None
    entries = SecurityEntry.objects.filter(kind=SecurityKind.ALERT_ROUTE).order_by("id")
    assert [each.detail.partition(") ")[2].partition(",")[0][:12] for each in entries] == [
        "paused until",
        "changed",
        "resumed",
    ]
    assert program.send("patch", f"/alert-routes/own/{others.key}", given).status_code == 404


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"zone": "Mars"}, "/zone"),
        ({"quiet_start": "22:00"}, "/quiet_end"),
        ({"paused_until": "2099-01-01T00:00:00Z"}, "/paused_until"),
        ({"paused_until": "2020-01-01T00:00:00Z"}, "/paused_until"),
        ({"most_rank": 2}, "/most_rank"),
    ],
)
def test_own_quiet_hours_that_make_no_sense_are_refused(body: dict[str, Any], pointer: str) -> None:
    program = staff("operator")
    mine = AlertRoute.objects.create(name="Me", kind="email", user=program.user)
    answer = program.send("patch", f"/alert-routes/own/{mine.key}", body)
    assert answer.status_code == 422
    assert pointer in [each["pointer"] for each in answer.json()["errors"]]


def test_a_test_to_a_person_who_left_is_refused_and_says_why() -> None:
    route = mail_route()
    route.user.staff_role = ""
    route.user.save()
    answer = staff().send("post", f"/alert-routes/{route.key}/test")
    assert (answer.status_code, answer.json()["code"]) == (409, "switched_off")
    assert "no longer on the staff" in answer.json()["detail"]
