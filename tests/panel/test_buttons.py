"""What a page offers, the person may do; what they may not do is disabled, with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import urlsplit

import pytest
from django.urls import resolve

from tests.panel.browser.walk import walk
from tests.panel.cast import Cast
from tests.panel.cast import people as people
from tests.panel.permissions import ROLES, TABLE

FORMS = re.compile(r"<form\b([^>]*)>(.*?)</form>", re.S)
ACTION = re.compile(r'action="([^"]+)"')
SUBMIT = re.compile(r'<button\b[^>]*type="submit"[^>]*>')
DISABLED = re.compile(r"<button\b[^>]*\sdisabled[^>]*>")
REASON = re.compile(r'aria-describedby="([^"]+)"')
SIGNED_IN = ROLES[1:]
# Of the person who is signed in, for what is their own.
EVERYBODYS = ("account_", "mfa_", "token-revoke", "tour")


def offered(text: str) -> Iterator[str]:
    """Where the enabled buttons of a page send their forms."""
    for attributes, inside in FORMS.findall(text):
        action = ACTION.search(attributes)
        enabled = [button for button in SUBMIT.findall(inside) if not DISABLED.match(button)]
        if 'method="post"' in attributes and action is not None and enabled:
            yield unescape(action[1])


def unexplained(text: str) -> Iterator[str]:
    """The disabled buttons of a page that do not name the text which says why."""
    for button in DISABLED.findall(text):
        reason = REASON.search(button)
        if reason is None or f'id="{reason[1]}"' not in text:
            yield button


@pytest.mark.parametrize("role", SIGNED_IN)
def test_links_and_buttons_lead_somewhere_and_disabled_ones_say_why(
    people: Cast, role: str
) -> None:
    # The other owner does with what is theirs what the table says of Acme's owner.
    as_role = "owner" if role == "other" else role
    allowed = {
        row.name
        for row in TABLE
        if row.method == "POST" and row.outcomes.split()[ROLES.index(as_role)] == "in"
    }
    wrong = []
    for path, response in walk(people.clients[role]):
        text = response.content.decode()
        # 204: the output of a job that has no line yet.
        if response.status_code not in (200, 204):
            wrong.append(f"{path} answers {response.status_code}")
        for action in offered(text):
            name = resolve(urlsplit(action).path).url_name or ""
            if name not in allowed and not name.startswith(EVERYBODYS):
                wrong.append(f"{path} offers {action}")
        wrong += [f"{path} does not explain {button}" for button in unexplained(text)]
    assert wrong == []
