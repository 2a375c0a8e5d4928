"""Making and revoking a token in a real browser."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, expect

from panel.accounts import api_tokens
from tests.panel.browser.chromium import browser as browser
from tests.panel.browser.chromium import served as served
from tests.panel.browser.chromium import signed_in, too_wide

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_token_is_made_shown_once_and_revoked(browser: Browser, served: str) -> None:
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    page.goto(served + reverse("tokens"))
    expect(page.locator("main")).to_contain_text("No tokens yet")
    page.get_by_label("Name", exact=True).fill("billing " + "n" * 56)
    page.get_by_label("change caches").check()
    page.get_by_role("button", name="Create token").click()
    text = page.inner_text("#new-token")
    token = api_tokens.recognise(text)
    assert token is not None
    assert token.scopes == ["read", "volumes:write"]
    assert too_wide(page) == []
    page.goto(served + reverse("tokens"))
    assert page.locator("#new-token").count() == 0
    page.get_by_role("link", name="Revoke").click()
    assert too_wide(page) == []
    page.get_by_role("button", name="Revoke").click()
    expect(page.locator("main")).to_contain_text("revoked")
    assert api_tokens.recognise(text) is None
    assert complaints == []
    context.close()
