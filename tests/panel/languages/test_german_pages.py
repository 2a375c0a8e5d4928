"""A customer who chose German reads no English: every page that a customer can reach is asked for,
and every text on it must come from the catalogue, which has German for all of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import trans_real
from pytest_django import Settings

from panel.help import glossary
from panel.models import Order, User
from storage.models import Volume
from tests import make
from tests.messages import written
from tests.panel.cast import Cast
from tests.panel.cast import people as people
from tests.panel.languages.page_texts import marked, texts_of, unmarked
from tests.panel.permissions import ROLES, TABLE, Row
from tests.panel.portal.shop import Shop, buyer, plan, shop
from tests.panel.portal.test_report import past_order, sold
from tests.panel.portal.test_volume_cards import cached_shop, on_trial, slow_shop
from tests.storage.metrics.samples.rounds import NOON

GERMAN = {"Accept-Language": "de"}
ONLY_ENGLISH = ("benchmark-shared", "kiosk", "kiosk-now")
"""Pages of staff that strangers see by a link."""
NAMES = {
    "Tiercel",
    "Name",
    "English",
    "Deutsch",
    "Acme",
    "acme",
    "zebra",
    "Ltd",
    "disk",
    "mail",
    "token",
    "all",
    "Fast",
    "Large",
    "org",
    "example",
    "com",
    "owner",
    "viewer",
    "person",
    "user",
    "GiB",
    "MiB",
    "KiB",
    "TiB",
    "EUR",
    "UTC",
    "IOPS",
    "CSV",
    "PNG",
    "SSD",
    "min",
    "ms",
}
"""Names that the tests give, and units."""
READABLE = [
    row
    for row in TABLE
    if row.method == "GET"
    and not row.is_api
    and row.outcomes.split()[ROLES.index("owner")] == "in"
    and row.name not in ("health", "enrol-script", "enrol-agent")
]
MARKED = [row for row in READABLE if row.name not in ("glossary", "invitation")]
"""All but the glossary, which is a document in each language, and an invitation of staff."""
ACCOUNT = (
    "account_change_password",
    "account_email",
    "account_logout",
    "mfa_index",
    "mfa_activate_totp",
    "mfa_add_webauthn",
    "mfa_list_webauthn",
    "mfa_generate_recovery_codes",
)
ENTRANCE = ("account_login", "account_reset_password", "account_reset_password_done")
ENTRANCE += ("account_signup", "account_email_verification_sent", "account_inactive")


@pytest.fixture
def _marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on the German of every text is the text itself in brackets."""
    german = trans_real.translation("de")
    one, many = german.gettext, german.ngettext

    def gettext(message: str) -> str:
        text = one(message)
        return text if "\x04" in text else marked(text)

    def ngettext(single: str, plural: str, number: int) -> str:
        text = many(single, plural, number)
        return text if "\x04" in text else marked(text)

    monkeypatch.setattr(german, "gettext", gettext)
    monkeypatch.setattr(german, "ngettext", ngettext)


def strange(page: str) -> list[str]:
    """The untranslated words of a page."""
    return [word for word in unmarked(page) if word not in NAMES]


def english(page: str) -> list[str]:
    """The texts of a page that the catalogue has other words for."""
    known = {
        entry.message
        for entry in written("de").values()
        if entry.message and entry.texts[0] != entry.message
    }
    return [text for text in texts_of(page) if text in known - NAMES]


def read(client: Client, path: str, **query: str) -> str:
    response = client.get(path, query, headers=GERMAN)
    assert response.headers["Content-Language"] == "de", path
    return response.content.decode()


@pytest.mark.usefixtures("_marks")
@pytest.mark.parametrize(
    "row", [row for row in MARKED if row.name not in ONLY_ENGLISH], ids=lambda row: row.name
)
def test_every_text_of_a_page_is_asked_a_translation_for(people: Cast, row: Row) -> None:
    User.objects.filter(pk=people.acme.owner.pk).update(language="de")
    response = people.ask("owner", row)
    if response.status_code == 200 and response["Content-Type"].startswith("text/html"):
        assert strange(response.content.decode()) == []


@pytest.mark.parametrize(
    "row", [row for row in READABLE if row.name not in ONLY_ENGLISH], ids=lambda row: row.name
)
def test_no_page_has_an_english_text_that_the_catalogue_translates(people: Cast, row: Row) -> None:
    User.objects.filter(pk=people.acme.owner.pk).update(language="de")
    response = people.ask("owner", row)
    if response.status_code == 200 and response["Content-Type"].startswith("text/html"):
        assert english(response.content.decode()) == []


@pytest.mark.django_db
@pytest.mark.usefixtures("_marks")
@pytest.mark.parametrize("name", [*ACCOUNT, *ENTRANCE])
@pytest.mark.parametrize("is_mailed", [True, False])
def test_every_text_of_an_account_page_is_asked_a_translation_for(
    name: str, is_mailed: bool, settings: Settings
) -> None:
    settings.SMTP_HOST = "mail.example.com" if is_mailed else ""
    client = buyer(shop().owner) if name in ACCOUNT else Client()
    assert strange(read(client, reverse(name))) == []


@pytest.mark.django_db
@pytest.mark.usefixtures("_marks")
@pytest.mark.parametrize("name", ["my-volumes", "search", "search-found", "help"])
@pytest.mark.parametrize("q", ["zzz", "mail"])
def test_every_text_of_a_search_is_asked_a_translation_for(name: str, q: str) -> None:
    acme = shop()
    Volume.objects.create(label="mail disk", size_bytes=1, customer=acme.customer)
    assert strange(read(buyer(acme.owner), reverse(name), q=q)) == []


@pytest.mark.django_db
@pytest.mark.usefixtures("_marks")
@pytest.mark.parametrize("path", ["/my/volumes/nowhere/", "/nowhere", "/invitation/nowhere"])
def test_every_text_of_an_error_is_asked_a_translation_for(path: str) -> None:
    assert strange(read(buyer(shop().owner), path)) == []


def with_order(**fields: Any) -> Shop:
    """A customer with an order of a plan."""
    acme, fast = slow_shop(), plan()
    given = {
        "intent": "upgrade",
        "currency": "EUR",
        "price_minor": 490,
        "charge_minor": 0,
        "next_invoice_minor": 490,
        "next_invoice_at": NOON + timedelta(days=8),
        **fields,
    }
    Order.objects.create(customer=acme.customer, volume=acme.volume, to_plan=fast, **given)
    return acme


def suspended() -> Shop:
    """A customer who may not order."""
    acme = slow_shop()
    acme.customer.suspended_at = timezone.now()
    acme.customer.save()
    return acme


STATES: dict[str, Callable[[], Shop]] = {
    "new": shop,
    "slow": slow_shop,
    "cached": cached_shop,
    "trial": lambda: on_trial(cached_shop(), 2.5),
    "planned": lambda: with_order(state="scheduled", due_at=NOON + timedelta(days=8)),
    "failed": lambda: with_order(state="failed", ended_at=NOON),
    "refused": lambda: with_order(state="refused", ended_at=NOON, reason="Card expired."),
    "suspended": suspended,
}


@pytest.mark.django_db
@pytest.mark.usefixtures("_marks")
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("may_buy", [True, False])
def test_every_text_of_a_volume_is_asked_a_translation_for_in_each_state(
    state: str, may_buy: bool, settings: Settings
) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER, settings.TIERCEL_TRIAL_DAYS = True, 7
    settings.TIERCEL_MANDATE_REQUIRED = not may_buy
    settings.TIERCEL_SUPPORT_EMAIL = "help@example.com"
    acme, large = (
        STATES[state](),
        plan("Large", size_bytes=2**33, price_minor=900, mode="writeback"),
    )
    client = buyer(acme.owner)
    with time_machine.travel(NOON + timedelta(seconds=5), tick=False):
        paths = [reverse("my-volumes")]
        for name in ("my-volume", "my-plan", "my-charts"):
            paths.append(reverse(name, args=[acme.volume.key]))
        for choice in (large.key, "none"):
            paths.append(reverse("my-plan-confirm", args=[acme.volume.key, choice]))
        for order in Order.objects.all():
            paths.append(reverse("my-order", args=[order.key]))
            paths.append(reverse("my-order-revert", args=[order.key]))
        strange_on = {path: strange(read(client, path)) for path in paths}
    assert {path: texts for path, texts in strange_on.items() if texts} == {}


@pytest.mark.django_db
@pytest.mark.usefixtures("_marks")
@pytest.mark.parametrize("after", [0.7, 0.2, 0.05])
@pytest.mark.parametrize("seconds", [440, 1000])
def test_every_text_of_a_report_is_asked_a_translation_for(
    after: float, seconds: float, settings: Settings
) -> None:
    settings.TIERCEL_PROOF_SECONDS, settings.TIERCEL_PROOF_WARM_SECONDS = 60, 120
    settings.TIERCEL_SAMPLE_SECONDS, settings.TIERCEL_CUSTOMERS_MAY_ORDER = 10, True
    past = past_order(after, seconds=seconds)
    sold(past)
    client = buyer(past.shop.owner)
    for name, key in (
        ("my-report", past.order.key),
        ("my-order", past.order.key),
        ("my-volume", past.volume.key),
    ):
        assert strange(read(client, reverse(name, args=[key]))) == [], name


@pytest.mark.django_db
def test_the_german_glossary_has_the_rows_of_the_english_one() -> None:
    client = buyer(make.user())
    page = read(client, reverse("glossary")).partition("<main")[2]
    ours = [term for term in glossary.terms() if term.section in glossary.FOR_CUSTOMERS]
    assert page.count("<dt>") == len(ours)
    assert "Trefferquote" in page
    assert "hit rate" not in page
