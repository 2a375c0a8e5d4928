"""Records of people and customers, added by staff: sign-up is closed."""

from __future__ import annotations

from typing import Final

from allauth.account.models import EmailAddress
from django.db import transaction
from django.db.models import SET_NULL, ProtectedError, QuerySet

from panel.accounts.security_log import security_entries
from panel.models import SecurityKind, User
from storage.access import StaffRole
from storage.formatting import counted
from storage.models import Customer
from storage.planner import Refused

SERVICE_DOMAIN: Final = "service.invalid"
"""No mail is delivered there (RFC 2606)."""


@transaction.atomic
def add(*, email: str, password: str | None, name: str = "", staff_role: str = "") -> User:
    """Store a person whose e-mail address counts as verified: its source is trusted."""
    user = User.objects.create_user(email, password, name=name, staff_role=staff_role)
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return user


@transaction.atomic
def add_service(name: str, staff_role: StaffRole, by: User) -> User:
    """An account for a program, which outlasts every employee: it has tokens and no sign-in.
    Raises `Refused` where the name is taken."""
    email = f"{name}@{SERVICE_DOMAIN}"
    if User.objects.filter(email__iexact=email).exists():
        raise Refused("already_exists", f"{email} exists already.", "Choose another name.")
    service = User.objects.create_user(
        email, None, name=name, staff_role=staff_role, is_service=True
    )
    security_entries.note(SecurityKind.ROLE, service, f"service account, {staff_role.label}", by=by)
    return service


def active_admins() -> QuerySet[User]:
    """Those who can still let others in."""
    admins = User.objects.filter(staff_role=StaffRole.ADMIN, is_active=True)
    return admins.filter(is_service=False)


@transaction.atomic
def give_role(person: User, role: StaffRole, by: User) -> None:
    """Change the role of a member of staff; raises `Refused` for the last active admin."""
    if role != StaffRole.ADMIN:
        _keep_an_admin(person)
    User.objects.filter(pk=person.pk).update(staff_role=role)
    security_entries.note(SecurityKind.ROLE, person, f"staff, {role.label}", by=by)


@transaction.atomic
def deactivate(person: User, by: User) -> None:
    """End the person's access from the next request on; raises `Refused` for the last active
    admin."""
    _keep_an_admin(person)
    User.objects.filter(pk=person.pk).update(is_active=False)
    security_entries.note(SecurityKind.DEACTIVATED, person, by=by)


def reactivate(person: User, by: User) -> None:
    """Let them sign in again, with the password and role they had."""
    User.objects.filter(pk=person.pk).update(is_active=True)
    person.is_active = True
    security_entries.note(SecurityKind.REACTIVATED, person, by=by)


@transaction.atomic
def delete(person: User, by: User) -> None:
    """Forget an account, with its tokens and its roles in customers; the logs keep its address.
    Raises `Refused` for an account with history, for the last active admin, and for one's own."""
    if person.pk == by.pk:
        raise Refused("not_allowed", "This is your own account.", "Ask another admin.")
    _keep_an_admin(person)
    # Nothing is written in its name from here on.
    locked = User.objects.select_for_update().get(pk=person.pk)
    if traces := _traces(locked):
        raise Refused(
            "in_use",
            f"The history names {locked.email}: {', '.join(traces)}.",
            'Deactivate it instead: PATCH with {"active": false}.',
        )
    if names := list(locked.alert_routes.values_list("name", flat=True)):
        raise Refused(
            "in_use",
            f"{locked.email} is an alert recipient: {', '.join(names)}.",
            "Add another recipient, then delete this one.",
        )
    security_entries.note(SecurityKind.DEACTIVATED, locked, "deleted", by=by)
    locked.delete()


def _traces(person: User) -> list[str]:
    """The kinds of rows that say who did something, where this person did."""
    return [
        str(relation.related_model._meta.verbose_name_plural)
        for relation in User._meta.related_objects
        if relation.on_delete is SET_NULL
        and relation.related_model._base_manager.filter(**{relation.field.name: person}).exists()
    ]


def is_last_admin(person: User) -> bool:
    """True where no other person could administer the panel."""
    return list(active_admins().values_list("pk", flat=True)) == [person.pk]


def _keep_an_admin(person: User) -> None:
    # Two admins that step down at once must not both see the other.
    list(active_admins().select_for_update().order_by("pk"))
    if is_last_admin(person):
        raise Refused(
            "last_admin",
            f"{person.email} is the last active admin.",
            "First give another person the admin role.",
        )


def why_kept(customer: Customer) -> Refused | None:
    """Why a customer cannot be deleted: nothing of value may go with it."""
    if count := customer.volumes.filter(destroyed_at=None).count():
        return Refused(
            "in_use",
            f"The customer has {counted(count, 'volume')}.",
            "Remove the customer from them first.",
        )
    if customer.volumes.exists() or customer.orders.exists() or customer.usage_lines.exists():
        return Refused(
            "in_use",
            "The orders, charges and destroyed volumes of the customer are kept for accounting.",
            "",
        )
    if count := customer.members.count():
        return Refused(
            "in_use", f"The customer has {counted(count, 'user')}.", "Remove their access first."
        )
    return None


def delete_customer(customer: Customer) -> None:
    """Forget a customer who has nothing: its history stays in the database. Raises `Refused`."""
    if refused := why_kept(customer):
        raise refused
    try:
        with transaction.atomic():
            customer.delete()
    except ProtectedError:
        raise Refused(
            "in_use", "The customer has changed in the meantime.", "Read the customer again."
        ) from None
