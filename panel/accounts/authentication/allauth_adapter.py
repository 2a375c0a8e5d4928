"""Our rules for allauth: sign-up is closed, and links in e-mails lead to the public address,
whatever host name the request used."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.stagekit import unstash_login
from allauth.account.models import EmailConfirmation
from allauth.core import context
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from panel.accounts.authentication import throttle
from panel.accounts.client_address import plain_address
from panel.accounts.security_log import background_mail, security_entries
from panel.accounts.security_log.listeners import person_of_address
from panel.models import User

TOO_MANY = "too_many_login_attempts"


class ClosedAdapter(DefaultAccountAdapter):
    """Sign-up is closed; staff add people."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Never."""
        return False

    def is_reauthentication_required(self, *, app: str, **kwargs: object) -> bool:
        """Never: `panel.http.middleware` has asked by then for a fresh proof, of the strongest kind
        that the person has (`panel.accounts.authentication.protected_actions`)."""
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
        """Mail in the background; without a mail server, send nothing."""
        if not settings.SMTP_HOST:
            return
        site = SimpleNamespace(name="Tiercel", domain=urlsplit(settings.TIERCEL_PUBLIC_URL).netloc)
        full_context = {"email": email, **context, "request": None, "current_site": site}
        background_mail.post_mail(self.render_mail(template_prefix, email, full_context))

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Count the attempt (`panel.accounts.authentication.throttle`) instead of as allauth does,
        whose count of an address lets anybody keep its person out."""
        address = str(credentials.get("email", ""))
        person = person_of_address(address)
        self._login_failed_rl_usage = throttle.count_try(request, address, person)
        if self._login_failed_rl_usage is None:
            security_entries.locked_out(person, "password")
            raise super().validation_error(TOO_MANY)

    def validation_error(self, code: str, *args: Any) -> ValidationError:
        """The same for a second factor, whose attempts allauth counts itself."""
        if code == TOO_MANY:
            security_entries.locked_out(_trying(context.request), "second factor")
        error: ValidationError = super().validation_error(code, *args)
        return error

    def post_login(self, request: HttpRequest, user: AbstractBaseUser, **how: Any) -> HttpResponse:
        """Remember the browser as one that this person has signed in from."""
        response: HttpResponse = super().post_login(request, user, **how)
        throttle.remember_browser(request, response, cast("User", user))
        return response

    def _delete_login_attempts_cached_email(self, request: HttpRequest, **credentials: Any) -> None:
        address = str(credentials.get("email", ""))
        throttle.forget(request, address, person_of_address(address))

    def get_client_ip(self, request: HttpRequest) -> str:
        """As `plain_address` has it, without the zone that a link-local address may carry, which
        PostgreSQL does not know."""
        text = super().get_client_ip(request).partition("%")[0]
        try:
            return str(plain_address(text))
        except ValueError:
            return text


def _public(name: str, **parts: str) -> str:
    return f"{settings.TIERCEL_PUBLIC_URL}{reverse(name, kwargs=parts)}"


def _trying(request: HttpRequest | None) -> User | None:
    """Who types a second factor: in a session, or half signed in."""
    if request is None:
        return None
    if request.user.is_authenticated:
        return request.user
    login = unstash_login(request, peek=True)
    return cast("User", login.user) if login is not None else None
