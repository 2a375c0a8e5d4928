"""Writes the security log, and mails the owner of an account when one of its keys changes. Both
name the browser and system of a sign-in in words, from its user agent.
"""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Final

from allauth.core import context
from django.conf import settings
from django.core.cache import cache
from django.core.mail import EmailMessage
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as marked
from ua_parser import parse

from panel.accounts.client_address import address_of
from panel.accounts.security_log import background_mail
from panel.languages.choice import spoken_to
from panel.models import SecurityEntry, SecurityKind, User
from storage import row_security

READ_LIMIT = 512
BROWSERS: Final = frozenset(
    {
        "Brave",
        "Chrome",
        "Chromium",
        "DuckDuckGo",
        "Edge",
        "Epiphany",
        "Falkon",
        "Firefox",
        "Konqueror",
        "Opera",
        "Safari",
        "Samsung Internet",
        "Vivaldi",
        "Yandex Browser",
    }
)
SYSTEMS: Final = frozenset(
    {
        "Android",
        "Chrome OS",
        "Debian",
        "Fedora",
        "FreeBSD",
        "Linux",
        "Mac OS X",
        "NetBSD",
        "OpenBSD",
        "Ubuntu",
        "Windows",
        "iOS",
    }
)
ON: Final = marked("{browser} on {system}")
ON_DEVICES: Final = {
    "iPhone": marked("{browser} on an iPhone"),
    "iPad": marked("{browser} on an iPad"),
    "Mac": marked("{browser} on a Mac"),
}


def browser_words(user_agent: str) -> str:
    """Such as "Firefox on Windows". Anything else is a program without a name: its own
    name is text from the sender, which must not get into the panel's mail."""
    is_browser = user_agent.startswith("Mozilla/")
    known = parse(user_agent[:READ_LIMIT]) if is_browser else None
    family = known.user_agent.family if known is not None and known.user_agent is not None else ""
    # "Mobile Safari", "Chrome Mobile iOS": the system follows.
    browser = " ".join(word for word in family.split() if word not in ("Mobile", "iOS"))
    if known is None or browser not in BROWSERS:
        return gettext("A program without a name")
    system = known.os.family if known.os and known.os.family in SYSTEMS else ""
    device = known.device.family if known.device else ""
    if not (system or device in ON_DEVICES):
        return browser
    return gettext(ON_DEVICES.get(device, ON)).format(browser=browser, system=system)


OWNER_SENTENCES: Final = {
    SecurityKind.PASSWORD: marked("The password of your account was changed."),
    SecurityKind.FACTOR_ADDED: marked("A second factor was added to your account."),
    SecurityKind.FACTOR_REMOVED: marked("A second factor was removed from your account."),
    SecurityKind.CODES: marked("New recovery codes were created for your account."),
    SecurityKind.ADDRESS: marked("An e-mail address of your account was changed."),
    SecurityKind.TOKEN_MADE: marked("An API token was created for your account."),
    SecurityKind.LINK_MADE: marked("A reset link for your password was created."),
    SecurityKind.LOCKED_OUT: marked(
        "Sign-in to your account was blocked after too many failed attempts."
    ),
    SecurityKind.ROLE: marked("Your role was changed."),
    SecurityKind.REACTIVATED: marked("Your account was reactivated."),
}
"""What the account's owner is notified of, and the sentence of the message."""


def letter(email: str, entry: SecurityEntry, at: datetime, user_agent: str) -> EmailMessage | None:
    """The message to that address; None where the panel sends no mail."""
    if not settings.SMTP_HOST:
        return None
    base: str = settings.TIERCEL_PUBLIC_URL
    sentence = gettext(OWNER_SENTENCES[SecurityKind(entry.kind)])
    lines = [
        sentence,
        "",
        *([f"{gettext('What:')}  {entry.detail}"] if entry.detail else []),
        f"{gettext('When:')}  {at:%Y-%m-%d %H:%M} UTC",
        *([f"{gettext('By:')}  {entry.actor}"] if entry.actor not in ("", entry.person) else []),
        *(
            [f"{gettext('From:')}  {entry.address}, {browser_words(user_agent)}"]
            if entry.address
            else []
        ),
        "",
        gettext(
            "If this was you, or if you expected this change, you do not need to do anything.\n"
            "If not, sign in, sign out all other sessions, choose another password, and revoke "
            "API tokens you do not know; or ask your provider to deactivate the account at once:"
        ),
        "",
        f"{base}{reverse('sessions')}",
        f"{base}{reverse('tokens')}",
    ]
    subject = f"[Tiercel] {sentence.rstrip('.')}"
    headers = {"Auto-Submitted": "auto-generated"}
    return EmailMessage(subject, "\n".join(lines) + "\n", to=[email], headers=headers)


log = logging.getLogger("panel.security_log")
"""A name of its own: log collectors filter by it."""

NOTIFIED_SECONDS = 3600
SAME_SECONDS = 300
"""For so long a lock-out that goes on is one entry."""
MOST_A_MINUTE = 100
"""Failures beyond these go to the process's log alone: no stranger can fill the database."""


def note(
    kind: SecurityKind,
    person: User | str,
    detail: str = "",
    *,
    by: User | None = None,
    notifies: bool = True,
) -> SecurityEntry:
    """Write an entry about the access of a person (an address where there is no account yet) and,
    where one of their keys changed, notify them if `notifies`. Actor and address come from the
    request."""
    request: HttpRequest | None = context.request
    requester = by or (request.user if request is not None else None)
    if token_key := getattr(request, "token_key", ""):
        # A program acts as its person; the token identifies the program.
        program = f", by token {token_key}"
        detail = f"{detail[: 200 - len(program)]}{program}"
    entry = SecurityEntry(
        kind=kind,
        person=str(person)[:254],
        actor=str(requester)[:254] if isinstance(requester, User) else "",
        address=address_of(request) if request is not None else None,
        detail=detail[:200],
    )
    log.info(
        "%s: %r by %r from %s: %s",
        entry.get_kind_display(),
        entry.person,
        entry.actor,
        entry.address,
        detail,
    )
    # Everybody writes it, and admins alone read it, which includes what an INSERT returns.
    with row_security.beyond():
        entry.save()
    if (
        notifies
        and kind in OWNER_SENTENCES
        and isinstance(person, User)
        and person.is_active
        and not person.is_service
    ):
        notify_owner(person.email, entry)
    return entry


def notify_owner(email: str, entry: SecurityEntry) -> None:
    """Mail what happened, in the recipient's language, in the background."""
    request: HttpRequest | None = context.request
    device = request.META.get("HTTP_USER_AGENT", "") if request is not None else ""
    reader = User.objects.filter(email__iexact=email).first()
    with translation.override(spoken_to(reader) if reader is not None else None):
        written = letter(email, entry, timezone.now(), device)
    if written is not None:
        background_mail.post_mail(written)


def failed(person: User | None, detail: str) -> None:
    """A try that was not let in. Who is not known here is not named: people type their password
    into the wrong field."""
    minute = int(timezone.now().timestamp()) // 60
    # Each person by themselves: a flood of unknown names hides no guess at a known one.
    key = f"watch:failed:{minute}:{person.pk if person is not None else ''}"
    cache.add(key, 0, 120)
    if cache.incr(key) > MOST_A_MINUTE:
        log.warning("a failed sign-in more than the security log takes: %s", person or "unknown")
        return
    note(SecurityKind.FAILED, person or "", detail)


def locked_out(person: User | None, detail: str) -> None:
    """Log that attempts are refused unchecked: once per lock-out for each person, kind of attempt
    and address. The person gets at most one mail an hour, over all addresses."""
    request: HttpRequest | None = context.request
    place = address_of(request) if request is not None else None
    who = person.pk if person is not None else ""
    if cache.add(f"watch:locked:{who}:{detail.replace(' ', '-')}:{place}", 1, SAME_SECONDS):
        mark = f"watch:notified:{who}:{detail.replace(' ', '-')}"
        notifies = cache.add(mark, 1, NOTIFIED_SECONDS)
        note(SecurityKind.LOCKED_OUT, person or "", detail, notifies=notifies)
