"""Browsers whose person has just shown, or once showed, who they are."""

from __future__ import annotations

import time

from django.test import Client

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
