"""Writes sign-ins and changes of credentials, reported by Django and allauth, into the security
log. A second factor that is added or removed ends the person's other sessions; a password that was
set without the old one also ends their API tokens."""

from __future__ import annotations

from typing import Any

from allauth.account import signals as account
from allauth.account.internal.flows.login import record_authentication
from allauth.account.models import EmailAddress
from allauth.mfa import signals as mfa
from allauth.mfa.models import Authenticator
from django.contrib.auth.signals import user_login_failed
from django.http import HttpRequest

from panel.accounts import api_tokens, sessions
from panel.accounts.security_log import security_entries
from panel.models import SecurityKind, User

RECORDS = "account_authentication_methods"


def connect_listeners() -> None:
    """From now on these are written."""
    account.user_logged_in.connect(_signed_in)
    user_login_failed.connect(_password_failed)
    mfa.authentication_failed.connect(_factor_failed)
    mfa.authenticator_added.connect(_factor_added)
    mfa.authenticator_removed.connect(_factor_removed)
    mfa.authenticator_reset.connect(_codes_renewed)
    account.password_changed.connect(_password_changed)
    account.password_set.connect(_password_changed)
    account.password_reset.connect(_password_reset)
    account.email_added.connect(_address_added)
    account.email_removed.connect(_address_removed)
    account.email_changed.connect(_address_changed)


def person_of_address(address: str) -> User | None:
    """Whose address it is."""
    own = EmailAddress.objects.select_related("user").filter(email__iexact=address, verified=True)
    verified = own.first()
    return verified.user if verified is not None else None


def _signed_in(*, request: HttpRequest, user: User, **given: Any) -> None:
    shown = request.session.get(RECORDS, [])
    methods = [str(each.get("type", each["method"])) for each in shown]
    security_entries.note(
        SecurityKind.SIGNED_IN, user, ", ".join(methods).replace("_", " "), by=user
    )


def _password_failed(*, credentials: dict[str, Any], **given: Any) -> None:
    security_entries.failed(person_of_address(str(credentials.get("email", ""))), "password")


def _factor_failed(*, user: User, **given: Any) -> None:
    security_entries.failed(user, "second factor")


def _factor_added(
    *, request: HttpRequest, user: User, authenticator: Authenticator, **given: Any
) -> None:
    if authenticator.type != Authenticator.Type.RECOVERY_CODES:
        # It was shown to be there this moment, and its recovery codes are the next page.
        shown = {"id": authenticator.pk, "type": authenticator.type}
        record_authentication(request, user, "mfa", **shown)
        security_entries.note(
            SecurityKind.FACTOR_ADDED, user, str(authenticator.get_type_display())
        )
        sessions.end_others(request, user)


def _factor_removed(
    *, request: HttpRequest, user: User, authenticator: Authenticator, **given: Any
) -> None:
    if authenticator.type != Authenticator.Type.RECOVERY_CODES:
        security_entries.note(
            SecurityKind.FACTOR_REMOVED, user, str(authenticator.get_type_display())
        )
        sessions.end_others(request, user)


def _codes_renewed(*, request: HttpRequest, user: User, **given: Any) -> None:
    security_entries.note(SecurityKind.CODES, user)
    sessions.end_others(request, user)


def _password_changed(*, user: User, **given: Any) -> None:
    security_entries.note(SecurityKind.PASSWORD, user)


def _password_reset(*, user: User, **given: Any) -> None:
    revoked = api_tokens.revoke_all(user)
    security_entries.note(
        SecurityKind.PASSWORD, user, f"with a mailed link; {revoked} API tokens revoked"
    )


def _address_added(*, user: User, email_address: EmailAddress, **given: Any) -> None:
    security_entries.note(SecurityKind.ADDRESS, user, f"added {email_address.email}")


def _address_removed(*, user: User, email_address: EmailAddress, **given: Any) -> None:
    entry = security_entries.note(SecurityKind.ADDRESS, user, f"removed {email_address.email}")
    if email_address.verified:
        security_entries.notify_owner(email_address.email, entry)


def _address_changed(
    *,
    user: User,
    from_email_address: EmailAddress | None,
    to_email_address: EmailAddress,
    **given: Any,
) -> None:
    entry = security_entries.note(
        SecurityKind.ADDRESS, user, f"{to_email_address.email} is the main one"
    )
    if from_email_address is not None:
        security_entries.notify_owner(from_email_address.email, entry)
