"""What we ask of allauth: nobody makes an account by themselves, and what it mails leads to the
public address, whatever name the request was sent to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailConfirmation
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from panel import mailing


class ClosedAdapter(DefaultAccountAdapter):
    """Sign-up is closed; staff add people."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Never."""
        return False

    def is_reauthentication_required(self, *, app: str, **kwargs: object) -> bool:
        """Never: the gate has asked for a fresh proof by then, of the strongest kind that the
        person has (`panel.power`)."""
        return False

    def get_reset_password_from_key_url(self, key: str) -> str:
        """Where the mailed link to a new password leads."""
        uidb36, _, rest = key.partition("-")
        return _public("account_reset_password_from_key", uidb36=uidb36, key=rest)

    def get_email_confirmation_url(
        self, request: HttpRequest, emailconfirmation: EmailConfirmation
    ) -> str:
        """Where the mailed link that confirms an address leads."""
        return _public("account_confirm_email", key=emailconfirmation.key)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Nobody waits for it, and without a mail server there is none."""
        if not settings.SMTP_HOST:
            return
        site = SimpleNamespace(name="Tiercel", domain=urlsplit(settings.TIERCEL_PUBLIC_URL).netloc)
        told = {"email": email, **context, "request": None, "current_site": site}
        mailing.post(self.render_mail(template_prefix, email, told))

    def get_client_ip(self, request: HttpRequest) -> str:
        """Without the zone that a link-local address may carry: PostgreSQL knows none."""
        return super().get_client_ip(request).partition("%")[0]


def _public(name: str, **parts: str) -> str:
    return f"{settings.TIERCEL_PUBLIC_URL}{reverse(name, kwargs=parts)}"
