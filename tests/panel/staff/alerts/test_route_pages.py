"""Recipients: entered, tested, changed; nothing secret is shown twice."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.http import Http404
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from panel import tasks
from panel.accounts.authentication.second_factor import unseal
from panel.deliveries.alerts.route_forms import OwnRouteForm, RouteForm, initial_of
from panel.models import AlertDelivery, AlertRoute, SecurityEntry, User
from storage.models import Host
from tests import make
from tests.panel.deliveries.alerts.alert_messages import alert, event, mail_route, routed
from tests.proven import prove

pytestmark = pytest.mark.django_db
WEBHOOK = {
    "name": "On call", "kind": "webhook", "url": "https://hooks.example.org/T0/secretpath",
    "is_on": "on", "tier": "1", "most_rank": "2", "zone": "UTC",
}  # fmt: skip


@pytest.fixture
def anna() -> User:
    return make.staff_user("anna@example.org")


@pytest.fixture
def browser(anna: User) -> Client:
    client = Client()
    client.force_login(anna)
    prove(client, anna)
    return client


def post(browser: Client, **fields: Any) -> Any:
    return browser.post(reverse("alert-route-new"), {**WEBHOOK, **fields})


def test_without_a_route_the_pages_say_that_alerts_have_no_recipients(browser: Client) -> None:
    assert "No recipients" in browser.get(reverse("alert-routes")).content.decode()
    assert "No alert recipients yet" in browser.get(reverse("alerts")).content.decode()
    assert "No alert recipients." in browser.get(reverse("settings")).content.decode()


def test_a_person_is_notified_by_mail(browser: Client, anna: User) -> None:
    host = make.host(name="stor-hel-03")
    saved = post(
        browser, kind="email", url="", person=str(anna.pk), hosts="stor-hel-03", sites="Hel, Ams",
        quiet_start="22:00", quiet_end="07:00", digest_hour="8", zone="Europe/Helsinki",
    )  # fmt: skip
    assert saved.status_code == 302
    route = AlertRoute.objects.get()
    assert (route.user, list(route.hosts.all()), route.sites) == (anna, [host], ["Hel", "Ams"])
    assert (route.digest_hour, f"{route.quiet_start:%H:%M}") == (8, "22:00")
    page = browser.get(reverse("alert-routes")).content.decode()
    assert "anna@example.org" in page
    assert "quiet 22:00 to 07:00" in page
    form = browser.get(reverse("alert-route", args=[route.key])).content.decode()
    assert 'value="22:00"' in form and "stor-hel-03" in form


def test_a_site_with_a_comma_stands_in_quotes_and_stays_one_site(browser: Client) -> None:
    sites = ['Frankfurt, "FRA" 3', "Hel"]
    post(browser, sites='"Frankfurt, ""FRA"" 3", Hel')
    route = AlertRoute.objects.get()
    assert route.sites == sites
    form = RouteForm(initial=initial_of(route), hosts=Host.objects.all(), route=route)
    browser.post(
        reverse("alert-route", args=[route.key]),
        {**WEBHOOK, "url": "", "name": "other", "sites": form["sites"].value()},
    )
    route.refresh_from_db()
    assert (route.name, route.sites) == ("other", sites)


@pytest.mark.parametrize("field", ["sites", "tags"])
def test_a_word_that_no_host_can_have_is_refused(browser: Client, field: str) -> None:
    answer = post(browser, **{field: "x" * 65})
    assert answer.status_code == 422
    assert "characters." in answer.content.decode()


def test_a_secret_that_is_made_is_shown_once_and_sealed(browser: Client) -> None:
    shown = post(browser).content.decode()
    route = AlertRoute.objects.get()
    secret = unseal(route.secret)
    assert secret.startswith("whsec_")
    assert secret in shown
    assert secret not in route.secret
    for name, args in (("alert-routes", []), ("alert-route", [route.key])):
        page = browser.get(reverse(name, args=args)).content.decode()
        assert secret not in page and "secretpath" not in page
        assert "hooks.example.org" in page


def test_address_and_secret_stay_where_their_fields_are_empty(browser: Client) -> None:
    post(browser)
    route = AlertRoute.objects.get()
    change = reverse("alert-route", args=[route.key])
    assert browser.post(change, {**WEBHOOK, "url": "", "most_rank": "0"}).status_code == 302
    again = AlertRoute.objects.get()
    assert (again.url, again.secret, again.most_rank) == (route.url, route.secret, 0)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"url": "http://hooks.example.org/"}, "TIERCEL_ALERT_PRIVATE_HOSTS"),
        ({"url": ""}, "Enter the address."),
        ({"kind": "email"}, "Choose a recipient."),
        ({"zone": "Mars/Base"}, "There is no such time zone."),
        ({"hosts": "gone"}, "There is no host “gone”."),
        ({"quiet_start": "22:00"}, "Enter both times"),
        ({"secret": "short"}, "base64"),
    ],
)
def test_what_leads_nowhere_is_refused(browser: Client, fields: dict[str, str], words: str) -> None:
    answer = post(browser, **fields)
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert not AlertRoute.objects.exists()


def test_a_test_goes_out_by_the_queue_and_can_be_sent_again(browser: Client, anna: User) -> None:
    post(browser, kind="email", url="", person=str(anna.pk))
    route = AlertRoute.objects.get()
    browser.post(reverse("alert-route-test", args=[route.key]))
    tasks.send_alerts()
    assert [each.subject for each in mail.outbox] == ["[Tiercel] Test message"]
    row = AlertDelivery.objects.get()
    assert "delivered" in browser.get(reverse("alert-routes")).content.decode()
    browser.post(reverse("alert-message-again", args=[row.key]))
    tasks.send_alerts()
    assert len(mail.outbox) == 2
    assert AlertDelivery.objects.count() == 1
    browser.post(reverse("alert-route-delete", args=[route.key]))
    assert not AlertRoute.objects.exists()


def test_messages_name_their_alerts_with_a_way_to_each(browser: Client, anna: User) -> None:
    route = mail_route("ben@example.org")
    host = make.host(name="stor-hel-03")
    alerts = [alert(host, subject=f"md{n}") for n in range(5)]
    for each in alerts:
        event(each)
    event(alerts[0], kind="worsened")
    routed()
    text = browser.get(reverse("alert-routes")).content.decode()
    row = text.split('id="messages"')[1].split("</tbody>")[0]
    for each in alerts[:3]:
        assert f'href="{reverse("alert", args=[each.key])}"' in row
    assert "Array degraded on stor-hel-03" in row and "md1" in row
    assert "and 2 more" in row
    assert reverse("alert", args=[alerts[4].key]) not in row
    page = browser.get(reverse("alert-route", args=[route.key])).content.decode()
    assert f'href="{reverse("alert", args=[alerts[0].key])}"' in page


def test_naming_alerts_costs_no_query_for_each_message(browser: Client, anna: User) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            browser.get(reverse("alert-routes"))
        return len(captured)

    route = mail_route("ben@example.org")
    event(alert())
    routed()
    before = queries()
    for _ in range(4):
        event(alert())
        routed()
    assert AlertDelivery.objects.filter(route=route).count() == 5
    assert queries() == before


def test_hosts_without_a_first_recipient_are_named(browser: Client) -> None:
    mail_route("ben@example.org", sites=["Hel"])
    mail_route("cleo@example.org", tier=2)
    mail_route("dora@example.org", most_rank=0, tags=["nvme"])
    mail_route("emil@example.org", is_on=False)
    make.host(name="stor-hel-01", site="Hel")
    bare, risky = make.host(name="stor-fra-02"), make.host(name="stor-fra-03", tags=["nvme"])
    make.host(name="stor-old-01", state="pending")
    routes = browser.get(reverse("alert-routes")).content.decode()
    section = routes.split('id="no-recipient"')[1].split("</section>")[0]
    assert "stor-fra-02" in section and "stor-fra-03" in section
    assert "stor-hel-01" not in section and "stor-old-01" not in section
    assert "only of data at risk" in section
    assert "No recipient in tier 1: 2 hosts" in browser.get(reverse("home")).content.decode()
    for host, words in ((bare, "no recipient"), (risky, "no recipient of errors")):
        assert words in browser.get(reverse("host", args=[host.key])).content.decode()
    answer = browser.get(reverse("api-alert-route-gaps")).json()
    assert [(each["host"]["name"], each["untold"]) for each in answer["items"]] == [
        ("stor-fra-02", "anything"),
        ("stor-fra-03", "errors"),
    ]
    mail_route("fay@example.org", most_rank=1)
    assert 'id="no-recipient"' not in browser.get(reverse("alert-routes")).content.decode()
    assert "No recipient" not in browser.get(reverse("home")).content.decode()
    assert browser.get(reverse("api-alert-route-gaps")).json()["items"] == []


def test_an_admin_is_asked_for_recipients_until_they_choose_none(browser: Client) -> None:
    make.host()
    home = browser.get(reverse("home")).content.decode()
    assert "No alert recipients yet" in home
    assert reverse("alert-route-new") in home
    answer = browser.post(reverse("no-alert-recipients"))
    assert answer.status_code == 302
    entry = SecurityEntry.objects.get(kind="alert_route")
    assert (entry.actor, entry.detail) == ("anna@example.org", "No alerts are to be sent")
    assert "No alert recipients yet" not in browser.get(reverse("home")).content.decode()
    post(browser)
    route = AlertRoute.objects.get()
    browser.post(reverse("alert-route-delete", args=[route.key]))
    assert "No alert recipients yet" in browser.get(reverse("home")).content.decode()


def test_a_person_who_may_not_change_it_is_not_asked(client: Client) -> None:
    make.host()
    client.force_login(make.staff_user("otto@example.org", staff_role="operator"))
    assert "No alert recipients yet" not in client.get(reverse("home")).content.decode()


def test_a_person_sets_their_own_quiet_hours_and_pauses_themselves(client: Client) -> None:
    own, other = mail_route("otto@example.org"), mail_route("ben@example.org")
    otto = own.user
    assert otto is not None
    User.objects.filter(pk=otto.pk).update(staff_role="operator")
    client.force_login(User.objects.get(pk=otto.pk))
    page = client.get(reverse("own-alerts")).content.decode()
    assert reverse("own-alerts-change", args=[own.key]) in page
    assert other.key not in page
    here = reverse("own-alerts-change", args=[own.key])
    fields = {"zone": "Europe/Berlin", "quiet_start": "22:00", "quiet_end": "07:00", "pause": "24"}
    named = {f"{own.key}-{name}": value for name, value in fields.items()}
    assert client.post(here, {**named, f"{own.key}-quiet_end": ""}).status_code == 422
    assert client.post(here, named).status_code == 302
    own.refresh_from_db()
    assert (own.zone, f"{own.quiet_start:%H:%M}", own.risk_pierces) == (
        "Europe/Berlin",
        "22:00",
        False,
    )
    assert own.is_paused and own not in AlertRoute.objects.in_use()
    event(alert())
    assert {each.route for each in routed()} == {other}
    entry = SecurityEntry.objects.get(kind="alert_route")
    assert entry.actor == "otto@example.org" and "paused until" in entry.detail
    client.post(here, {**named, f"{own.key}-pause": "0"})
    assert own in AlertRoute.objects.in_use()
    assert client.post(reverse("own-alerts-change", args=[other.key]), named).status_code == 404


def test_own_quiet_hours_take_nothing_back_that_an_admin_changed_meanwhile(anna: User) -> None:
    read, otto = mail_route("otto@example.org"), User.objects.get(email="otto@example.org")
    form = OwnRouteForm({"zone": "Europe/Berlin"})
    assert form.is_valid()
    AlertRoute.objects.update(is_on=False, most_rank=0)
    form.save(read, otto)
    route = AlertRoute.objects.get()
    assert (route.zone, route.is_on, route.most_rank) == ("Europe/Berlin", False, 0)
    AlertRoute.objects.update(user=anna)
    with pytest.raises(Http404):
        form.save(read, otto)
    AlertRoute.objects.all().delete()
    with pytest.raises(Http404):
        form.save(read, otto)
    assert not AlertRoute.objects.exists()


def test_an_admins_change_ends_no_pause_and_brings_no_deleted_route_back(anna: User) -> None:
    read, until = mail_route("otto@example.org"), timezone.now() + timedelta(hours=4)
    fields = {**WEBHOOK, "kind": "email", "url": "", "person": str(read.user_id)}
    form = RouteForm(fields, hosts=Host.objects.all(), route=read)
    assert form.is_valid(), form.errors
    AlertRoute.objects.update(paused_until=until)
    form.save(anna)
    assert AlertRoute.objects.get().paused_until == until
    AlertRoute.objects.all().delete()
    with pytest.raises(Http404):
        form.save(anna)
    assert not AlertRoute.objects.exists()


def test_a_pause_ends_by_itself() -> None:
    route = mail_route("otto@example.org", paused_until=timezone.now() - timedelta(minutes=1))
    assert route in AlertRoute.objects.in_use() and not route.is_paused


def test_a_name_is_no_more_than_text(browser: Client) -> None:
    post(browser, name="<script>alert(1)</script>")
    assert "<script>alert(1)" not in browser.get(reverse("alert-routes")).content.decode()


def test_the_form_is_grouped_by_how_and_folds_the_rest(browser: Client, anna: User) -> None:
    make.host(name="stor-hel-03", site="Hel", tags=["nvme"])
    make.host(name="stor-hel-04")
    page = browser.get(reverse("alert-route-new")).content.decode()
    mail_part, _, rest = page.partition('class="route-address"')
    assert 'name="person"' in mail_part and 'name="url"' in rest
    assert "<details>" in page and "In use: Hel." in page and "In use: nvme." in page
    for field in RouteForm.base_fields:
        assert page.count(f'name="{field}"') == 1
    answer = post(browser, hosts="gone").content.decode()
    assert "<details open>" in answer
    url = reverse("suggest", args=["host-list"])
    options = browser.get(url, {"hosts": "stor-hel-03, stor-hel-04"}).content.decode()
    assert options == '<option value="stor-hel-03, stor-hel-04">'


@pytest.mark.parametrize(("server", "kind"), [("", "webhook"), ("mail.example.org", "email")])
def test_a_way_that_cannot_work_is_not_the_first_that_is_offered(
    browser: Client, settings: Settings, server: str, kind: str
) -> None:
    settings.SMTP_HOST = server
    page = browser.get(reverse("alert-route-new")).content.decode()
    assert f'<option value="{kind}" selected' in page
    assert ("e-mails are not delivered" in page) is (not server)


def test_an_alert_remembers_who_was_notified_when_the_recipient_is_gone(browser: Client) -> None:
    route, of = mail_route("m2@example.org"), alert()
    event(of)
    (sent,) = routed()
    AlertDelivery.objects.update(delivered_at=timezone.now())
    waiting = AlertDelivery.objects.create(route=route, purpose="test")
    browser.post(reverse("alert-route-delete", args=[route.key]))
    sent.refresh_from_db()
    waiting.refresh_from_db()
    assert (sent.route, sent.to, sent.given_up_at) == (None, "E-mail to m2@example.org", None)
    assert waiting.given_up_at is not None
    page = browser.get(reverse("alert", args=[of.key])).content.decode()
    assert "E-mail to m2@example.org" in page and "has no recipient for this alert" not in page
    again = browser.post(reverse("alert-message-again", args=[sent.key]))
    assert again.status_code == 404
    event(of, "resolved")
    assert routed() == []
