"""Browsers whose person has just shown, or once showed, who they are."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from html import unescape
from http import HTTPStatus
from typing import Any

from django.test import Client
from django.urls import reverse

from panel.accounts.authentication.kept_post import MARK
from panel.models import User

RECORDS, OF = "account_authentication_methods", "account_authentication_methods_user"


def sign_in(client: Client, user: User) -> Client:
    """As if the person had just signed in there with what opens their account."""
    client.force_login(user)
    return prove(client, user)


def prove(client: Client, user: User, method: str = "", *, age: float = 0, **also: str) -> Client:
    """Note in the client's session that the person, who is signed in there, showed `method` so
    many seconds ago; by default the one they would be asked for without a second factor."""
    default = "password" if user.has_usable_password() else "mail_code"
    record = {"method": method or default, "at": time.time() - age, **also}
    session = client.session
    session[RECORDS] = [*session.get(RECORDS, []), record]
    session[OF] = str(user.pk)
    session.save()
    return client


def is_asked(response: Any) -> bool:
    """Whether the answer asks for a proof: with the page itself, or with the way to it."""
    if response.status_code == HTTPStatus.FOUND:
        place: str = response.headers["Location"]
        return place.startswith(reverse("step-up"))
    return response.status_code == HTTPStatus.FORBIDDEN and MARK in response.content.decode()


def kept_fields(response: Any) -> dict[str, list[str]]:
    """What the page that asks for a proof brings back of the POST, without the proof."""
    forms = response.content.decode().split("<form")
    form = next(each for each in forms if MARK in each).split("</form>")[0]
    fields = defaultdict[str, list[str]](list)
    for name, value in re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form):
        fields[unescape(name)].append(unescape(value))
    return dict(fields)
