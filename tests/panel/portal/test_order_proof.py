"""An order takes a fresh proof of who sits there; without it nothing is ordered or changed."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from jobs.models import Job
from panel.accounts.authentication import login_links
from panel.models import Order
from tests.panel.portal.shop import Shop, plan, shop
from tests.proven import is_asked, prove

pytestmark = pytest.mark.django_db

AGREED = {"price_minor": "490", "currency": "EUR"}


@pytest.fixture
def acme(settings: Settings) -> Shop:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    settings.TIERCEL_MANDATE_REQUIRED = False
    return shop()


def confirm_path(acme: Shop) -> str:
    return reverse("my-plan-confirm", args=[acme.volume.key, plan().key])


def nothing_happened(acme: Shop) -> bool:
    return (
        not Order.objects.exists() and not Job.objects.exists() and acme.volume.cache_plan is None
    )


def test_an_old_proof_is_asked_for_again_and_leads_back_to_the_confirmation(
    client: Client, acme: Shop
) -> None:
    client.force_login(acme.owner)
    path = confirm_path(acme)
    response: Any = prove(client, acme.owner, age=310).post(path, AGREED)
    assert is_asked(response)
    text = response.content.decode()
    assert "Nothing has been changed and nothing was charged" in text and f'href="{path}"' in text
    assert nothing_happened(acme)
    # Back from there nothing is ordered by itself: the page is shown again.
    assert prove(client, acme.owner).get(path).status_code == 200
    assert nothing_happened(acme)


def test_a_login_link_is_no_proof(client: Client, acme: Shop) -> None:
    link = login_links.make_link(acme.owner, "/my/")
    client.post(urlsplit(link).path)
    assert is_asked(client.post(confirm_path(acme), AGREED))
    assert nothing_happened(acme)
