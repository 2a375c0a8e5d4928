"""Customers read their own language; the provider's pages and the API stay English."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.core import mail
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone, translation
from pytest_django import Settings

from jobs.models import Job
from panel.accounts.security_log import background_mail
from panel.deliveries.delivery_loop import deliver_due
from panel.deliveries.notices import notice_delivery
from panel.deliveries.notices.notice_delivery import NOTICE_MAILS
from panel.languages.choice import ZONE_COOKIE, LanguageMiddleware, remember
from panel.models import NoticeKind, User
from storage.formatting import ms
from tests import make
from tests.panel.deliveries.notices.case import case
from tests.panel.portal.shop import Shop, browser, plan, seen, shop
from tests.scene import job, scene

pytestmark = pytest.mark.django_db
GERMAN = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}


@pytest.fixture
def acme() -> Shop:
    return shop()


def speak(client: Client, language: str, back: str = "/my/") -> str:
    response = client.post(reverse("language"), {"language": language, "next": back})
    assert response.status_code == 302
    return str(response.headers["Location"])


def test_a_page_speaks_the_language_of_the_browser(acme: Shop) -> None:
    page = browser(acme.owner).get(reverse("my-volumes"), headers=GERMAN)
    assert "Meine Volumes" in page.content.decode()
    assert '<html lang="de">' in page.content.decode()
    assert page.headers["Content-Language"] == "de"


def test_a_choice_lasts_whatever_the_browser_says(acme: Shop) -> None:
    client = browser(acme.owner)
    assert speak(client, "de") == "/my/"
    assert "Meine Volumes" in seen(client, "my-volumes")
    acme.owner.refresh_from_db()
    assert acme.owner.language == "de"
    speak(client, "en")
    assert "My volumes" in client.get("/my/", headers=GERMAN).content.decode()


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example", "my/"])
def test_the_choice_leads_nowhere_else(acme: Shop, back: str) -> None:
    assert speak(browser(acme.owner), "de", back) == "/"


def test_a_language_that_is_not_offered_changes_nothing(acme: Shop) -> None:
    client = browser(acme.owner)
    speak(client, "tlh")
    assert User.objects.get(pk=acme.owner.pk).language == ""


def test_who_is_not_signed_in_chooses_for_this_browser(client: Client) -> None:
    speak(client, "de", reverse("account_login"))
    assert "Anmelden" in client.get(reverse("account_login")).content.decode()


def test_staff_and_the_api_speak_english(admin_client: Client, acme: Shop) -> None:
    for path in (reverse("home"), reverse("api-volumes")):
        text = admin_client.get(path, headers=GERMAN).content.decode()
        assert "Meine" not in text
        assert "kostenlos" not in text
    refusal = browser(acme.owner).get("/api/v1/volumes/unknown/", headers=GERMAN)
    assert "Nicht" not in refusal.content.decode()


def test_a_page_that_fails_leaves_no_language_behind(rf: RequestFactory) -> None:
    def fail(request: HttpRequest) -> HttpResponse:
        raise RuntimeError(translation.get_language())

    with pytest.raises(RuntimeError, match="de"):
        LanguageMiddleware(fail)(rf.get("/my/", headers=GERMAN))
    assert translation.get_language() == "en"


def test_prices_dates_and_figures_are_written_as_in_germany(acme: Shop, settings: Settings) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER, settings.TIERCEL_MANDATE_REQUIRED = True, False
    fast = plan()
    client = browser(acme.owner)
    speak(client, "de")
    assert "4,90\xa0EUR" in seen(client, "my-plan", acme.volume.key)
    assert "Für 4,90\xa0EUR im Monat zahlungspflichtig bestellen" in seen(
        client, "my-plan-confirm", acme.volume.key, fast.key
    )
    assert ms(1.5) == "1.50 ms"  # and nowhere else


def test_a_plan_is_described_in_the_language_of_who_reads(acme: Shop) -> None:
    plan(description="For busy servers", descriptions={"de": "Für Server mit viel Betrieb"})
    client = browser(acme.owner)
    assert "For busy servers" in seen(client, "my-plan", acme.volume.key)
    speak(client, "de")
    page = seen(client, "my-plan", acme.volume.key)
    assert "Für Server mit viel Betrieb" in page
    assert "For busy servers" not in page


def test_an_e_mail_speaks_the_language_of_its_reader(settings: Settings) -> None:
    settings.SMTP_HOST = "localhost"
    there = case()
    User.objects.filter(pk=there.viewer.pk).update(language="de")
    notice_delivery.notify(there.order, NoticeKind.DONE)
    deliver_due(NOTICE_MAILS)
    german, *_ = [each for each in mail.outbox if each.to == [there.viewer.email]]
    assert german.subject.endswith("jetzt Tarif Fast")
    assert "Nächste Rechnung, 1. Dezember 2026: 4,90 EUR" in german.body
    others = [each for each in mail.outbox if each.to != [there.viewer.email]]
    assert all(each.subject.startswith("Done:") for each in others)


def test_a_forgotten_password_is_mailed_about_in_german(acme: Shop, settings: Settings) -> None:
    settings.SMTP_HOST = "localhost"
    path = reverse("account_reset_password")
    Client().post(path, {"email": acme.owner.email}, headers=GERMAN)
    background_mail.POST.submit(int).result()
    sent = mail.outbox[-1]
    assert sent.subject == "[Tiercel] Passwort zurücksetzen"
    assert "Öffnen Sie diesen Link, um es festzulegen" in sent.body
    assert "/account/password/reset/key/" in sent.body


@pytest.mark.parametrize(("headers", "language"), [(GERMAN, "de"), ({}, "")])
def test_a_sign_in_remembers_the_language_of_its_browser(
    rf: RequestFactory, headers: dict[str, str], language: str
) -> None:
    user = make.user()
    remember(rf.get("/", headers=headers), user)
    user.refresh_from_db()
    assert user.language == language


def test_times_are_shown_in_the_zone_of_the_browser_and_read_in_it() -> None:
    there, client = scene(), browser(make.staff_user())
    job(there, created_at=datetime(2026, 7, 1, 12, tzinfo=UTC))
    address = reverse("job", args=[Job.objects.get().key])
    assert "2026-07-01 12:00:00" in client.get(address).content.decode()
    client.cookies[ZONE_COOKIE] = "Europe/Berlin"
    page = client.get(address).content.decode()
    assert "2026-07-01 14:00:00" in page and "Requested (Europe/Berlin)" in page
    end = (timezone.now() + timedelta(hours=3)).astimezone(ZoneInfo("Europe/Berlin"))
    typed = {"reason": "New disks", "until": f"{end:%Y-%m-%dT%H:%M}"}
    answer = client.post(reverse("host-maintenance", args=[there.host.key]), typed, follow=True)
    there.host.refresh_from_db()
    assert there.host.maintenance_until == end.replace(second=0, microsecond=0)
    assert f"until {end:%Y-%m-%d %H:%M %Z}" in answer.content.decode()


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", ""])
def test_a_zone_that_there_is_not_is_utc(zone: str) -> None:
    client = browser(make.staff_user())
    client.cookies[ZONE_COOKIE] = zone
    assert "Since (UTC)" in client.get(reverse("trail")).content.decode()


def test_programs_get_times_in_utc() -> None:
    client = browser(make.staff_user())
    job(scene(), created_at=datetime(2026, 7, 1, 12, tzinfo=UTC))
    client.cookies[ZONE_COOKIE] = "Europe/Berlin"
    answer = client.get(reverse("api-job", args=[Job.objects.get().key]))
    assert answer.json()["created_at"] == "2026-07-01T12:00:00Z"
