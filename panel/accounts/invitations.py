"""One-time links: for the first admin, for staff, for a customer's members, for a new password.

The database keeps only the token's digest. Opening a link does not use it up; choosing a password
does.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import send_mail
from django.core.validators import validate_email
from django.db import transaction
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as marked

from panel.accounts import api_tokens, people
from panel.accounts.security_log import security_entries
from panel.help import tour
from panel.languages.choice import DEFAULT, spoken_to
from panel.languages.local_times import plain_time
from panel.models import Invitation, SecurityKind, User
from storage.access import MemberRole, StaffRole
from storage.models import Customer, Member
from storage.planner import Refused

log = logging.getLogger(__name__)

LIFETIME = timedelta(days=3)
SHORT_LIFETIME = timedelta(hours=1)
"""Of links that make an admin without being asked who one is, or replace a password."""
ROLES: Final = {
    MemberRole.VIEWER: marked("viewer"),
    MemberRole.OPERATOR: marked("operator"),
    MemberRole.OWNER: marked("owner"),
}


def to_staff(email: str, role: StaffRole, by: User | None) -> tuple[Invitation, str]:
    """Invite a new person to the staff: the invitation and its token. Raises `Refused`."""
    return _begin(_new(email), LIFETIME, staff_role=role, created_by=by)


def to_customer(
    email: str, customer: Customer, role: MemberRole, by: User | None
) -> tuple[Invitation, str]:
    """Invite a new person to a customer: the invitation and its token. Raises `Refused`."""
    return _begin(_new(email), LIFETIME, customer=customer, member_role=role, created_by=by)


def to_new_password(person: User, by: User | None) -> tuple[Invitation, str]:
    """A link with which an existing person chooses a new password. Raises `Refused`."""
    if person.is_service:
        raise Refused(
            "not_allowed",
            f"{person.email} is a service account and cannot sign in.",
            "Make a token for it.",
        )
    if not person.is_active:
        raise Refused(
            "not_active", f"{person.email} is deactivated.", "Reactivate the account first."
        )
    return _begin(person.email, SHORT_LIFETIME, user=person, created_by=by)


def to_first_admin(email: str, *, force: bool = False) -> tuple[Invitation, str]:
    """A link to an admin's account, for the operator of the panel's machine: a new one, or the one
    with this address. Raises `Refused` where there is an active admin, unless forced."""
    if not force and people.active_admins().exists():
        raise Refused(
            "already_exists",
            "There is already an active admin.",
            "Ask that admin for an invitation, or add --force if no admin can sign in.",
        )
    known = User.objects.filter(email__iexact=email).first()
    address = known.email if known is not None else _valid(email)
    return _begin(address, SHORT_LIFETIME, user=known, staff_role=StaffRole.ADMIN)


@transaction.atomic
def revoke_invitation(invitation: Invitation, by: User) -> None:
    """Delete the invitation: its link stops working."""
    Invitation.objects.filter(pk=invitation.pk, used_at=None).delete()
    whom = invitation.user or invitation.email
    security_entries.note(SecurityKind.LINK_REVOKED, whom, invitation.what, by=by)


def invite_again(invitation: Invitation, by: User) -> tuple[Invitation, str]:
    """A new link to the same place, in the old one's stead. Raises `Refused`."""
    if invitation.user is not None:
        return to_new_password(invitation.user, by)
    if invitation.customer is not None:
        role = MemberRole(invitation.member_role)
        return to_customer(invitation.email, invitation.customer, role, by)
    return to_staff(invitation.email, StaffRole(invitation.staff_role), by)


def open_invitation(token: str) -> Invitation | None:
    """The invitation of this token; None once it is used, too old or never was."""
    invitations = Invitation.objects.open().select_related("customer", "user")
    return invitations.filter(digest=_digest(token)).first()


@transaction.atomic
def accept_invitation(token: str, name: str, password: str) -> User:
    """Use the token up: the person exists from now on, or has a new password. Raises `Refused`,
    and then it is not used up. The password was validated before."""
    open_invitations = Invitation.objects.select_for_update(of=("self",)).open()
    invitation = open_invitations.filter(digest=_digest(token)).first()
    if invitation is None:
        raise Refused("not_found", "This link was used or has expired.", "Ask for a new one.")
    Invitation.objects.filter(pk=invitation.pk).update(used_at=Now())
    person = invitation.user
    if person is not None:
        person.set_password(password)
        if invitation.staff_role:
            person.staff_role, person.is_active = invitation.staff_role, True
            person.memberships.all().delete()
        person.name = name or person.name
        # Only what this changes: the row was read without a lock.
        person.save(update_fields=("password", "name", "staff_role", "is_active"))
        revoked = api_tokens.revoke_all(person)
        done = f"{invitation.what}; {revoked} API tokens revoked"
        security_entries.note(SecurityKind.PASSWORD, person, done)
    else:
        person = people.add(
            email=_new(invitation.email),
            password=password,
            name=name,
            staff_role=invitation.staff_role,
        )
        if invitation.customer is not None:
            Member.objects.create(
                customer=invitation.customer, user=person, role=invitation.member_role
            )
        tour.begin_tour(person)
    security_entries.note(SecurityKind.LINK_USED, person, invitation.what)
    return person


def link(token: str) -> str:
    """The address that lets the person in."""
    return f"{settings.TIERCEL_PUBLIC_URL}{reverse('invitation', args=[token])}"


def place_words(invitation: Invitation) -> str:
    """The future role of the person, in the active language."""
    if invitation.customer is None:
        return invitation.what
    role = gettext(ROLES[MemberRole(invitation.member_role)])
    return gettext("{role} of {customer}").format(role=role, customer=invitation.customer)


def mail_invitation(invitation: Invitation, token: str) -> bool:
    """Send the link to its person; False where no mail server is set or it did not take it. A
    customer's new person gets every language, since the panel does not know theirs yet."""
    if not settings.SMTP_HOST:
        return False
    subjects, texts = [], []
    for language in _languages(invitation):
        with translation.override(language):
            subject, text = _letter(invitation, token)
        subjects.append(subject)
        texts.append(text)
    subject, text = " / ".join(subjects), "\n\n---\n\n".join(texts)
    try:
        send_mail(subject, f"{text}\n", None, [invitation.email])
    except OSError as error:  # smtplib's errors are OSErrors
        log.warning("the invitation of %s could not be mailed: %s", invitation.email, error)
        return False
    return True


def _languages(invitation: Invitation) -> list[str]:
    if invitation.user is not None:
        return [spoken_to(invitation.user)]
    return [DEFAULT] if invitation.staff_role else [code for code, _ in settings.LANGUAGES]


def _letter(invitation: Invitation, token: str) -> tuple[str, str]:
    """Subject and text in the active language."""
    subject = gettext("Your access to Tiercel")
    begin = gettext("You are invited to Tiercel ({place}).")
    if invitation.user is not None and not invitation.staff_role:
        subject = gettext("Your new password for Tiercel")
        begin = gettext("This link is for a new password for Tiercel.")
    text = gettext("Open this link and choose a password. It works once, until {time}:")
    return subject, "\n\n".join(
        (
            begin.format(place=place_words(invitation)),
            text.format(time=plain_time(invitation.expires_at)),
            link(token),
        )
    )


@transaction.atomic
def _begin(email: str, lifetime: timedelta, **fields: object) -> tuple[Invitation, str]:
    token = secrets.token_urlsafe(32)
    Invitation.objects.open().filter(email__iexact=email).delete()
    made = Invitation.objects.create(
        email=email, digest=_digest(token), expires_at=Now() + lifetime, **fields
    )
    made.refresh_from_db()
    security_entries.note(SecurityKind.LINK_MADE, made.user or email, made.what, by=made.created_by)
    return made, token


def _new(email: str) -> str:
    if User.objects.filter(email__iexact=email).exists():
        raise Refused(
            "already_exists",
            f"{email} already has an account.",
            "Open the account under People and change it there.",
        )
    return _valid(email)


def _valid(email: str) -> str:
    try:
        validate_email(email)
    except ValidationError:
        raise Refused(
            "bad_request",
            f"{email[:80]!r} is not an e-mail address.",
            "Enter an address like name@example.org.",
        ) from None
    return User.objects.normalize_email(email)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
