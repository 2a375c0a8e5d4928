"""What the owner of an account is told when one of its keys changes."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from django.conf import settings
from django.core.mail import EmailMessage
from django.urls import reverse

from panel.models import SecurityEntry, SecurityKind
from panel.security_log.user_agents import described

TOLD: Final = {
    SecurityKind.PASSWORD: "The password of your account was changed.",
    SecurityKind.FACTOR_ADDED: "A second factor was added to your account.",
    SecurityKind.FACTOR_REMOVED: "A second factor was removed from your account.",
    SecurityKind.CODES: "New recovery codes were created for your account.",
    SecurityKind.ADDRESS: "An e-mail address of your account was changed.",
    SecurityKind.TOKEN_MADE: "An API token was created for your account.",
    SecurityKind.LINK_MADE: "A reset link for your password was created.",
    SecurityKind.LOCKED_OUT: "Sign-in to your account was blocked after too many failed attempts.",
    SecurityKind.ROLE: "Your role was changed.",
    SecurityKind.REACTIVATED: "Your account was reactivated.",
}
"""Kinds that the owner hears of, and in which words."""


def letter(email: str, entry: SecurityEntry, at: datetime, user_agent: str) -> EmailMessage | None:
    """The message to that address; None where the panel sends no mail."""
    if not settings.SMTP_HOST:
        return None
    base: str = settings.TIERCEL_PUBLIC_URL
    lines = [
        TOLD[SecurityKind(entry.kind)],
        "",
        *([f"What:  {entry.detail}"] if entry.detail else []),
        f"When:  {at:%Y-%m-%d %H:%M} UTC",
        *([f"By:    {entry.actor}"] if entry.actor not in ("", entry.person) else []),
        *([f"From:  {entry.address}, {described(user_agent)}"] if entry.address else []),
        "",
        "If this was you, or if you expected this change, you do not need to do anything.",
        "If not, sign in, sign out all other sessions, choose another password, and revoke API",
        "tokens you do not know; or ask your provider to deactivate the account at once:",
        "",
        f"{base}{reverse('sessions')}",
        f"{base}{reverse('tokens')}",
    ]
    subject = f"[Tiercel] {TOLD[SecurityKind(entry.kind)].rstrip('.')}"
    headers = {"Auto-Submitted": "auto-generated"}
    return EmailMessage(subject, "\n".join(lines) + "\n", to=[email], headers=headers)
