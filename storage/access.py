"""Access control: who may see rows, and who may do what. Every queryset's `visible_to(user)` and
every view asks here.

Staff have one role for everything; people of a customer have a role in each customer of which they
are members.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponseBase

Person = AbstractBaseUser | AnonymousUser
P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


class StaffRole(StrEnum):
    """read_only sees all; operator also changes volumes and caches; admin also decides which hosts
    to trust, who the people are, and what is sold."""

    READ_ONLY = "read_only"
    OPERATOR = "operator"
    ADMIN = "admin"

    @property
    def label(self) -> str:
        """What pages call it."""
        return self.value.replace("_", "-")


class MemberRole(StrEnum):
    """viewer sees the customer's volumes; operator and owner also change their plans."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    OWNER = "owner"


class Right(StrEnum):
    """What a view demands of staff."""

    SEE = "see"
    OPERATE = "operate"
    ADMINISTER = "administer"


RIGHTS: dict[str, frozenset[Right]] = {
    StaffRole.READ_ONLY: frozenset({Right.SEE}),
    StaffRole.OPERATOR: frozenset({Right.SEE, Right.OPERATE}),
    StaffRole.ADMIN: frozenset(Right),
}
ORDERING_ROLES = (MemberRole.OWNER, MemberRole.OPERATOR)


class ProofNeeded(Exception):
    """The person must prove first that it is they who sit at the screen; then the browser comes
    back to `back`, a page that shows itself on GET."""

    def __init__(self, back: str) -> None:
        super().__init__(back)
        self.back = back


def is_proven(request: HttpRequest) -> bool:
    """Whether access control knows of a fresh proof of this request's person."""
    known: Callable[[], bool] = getattr(request, "is_proven", lambda: False)
    return known()


def require_proof(request: HttpRequest, back: str) -> None:
    """Raises `ProofNeeded` where there is no fresh proof."""
    if not is_proven(request):
        raise ProofNeeded(back)


def is_staff(user: Person) -> bool:
    """True for people of the provider, who see every host and volume."""
    return may(user, Right.SEE)


def may(user: Person, right: Right) -> bool:
    """True where the person's staff role includes the right; customers have none."""
    role = getattr(user, "staff_role", "")
    return bool(user.is_active) and right in RIGHTS.get(role, frozenset())


def member(user: Person, path: str, **also: object) -> Q:
    """Rows whose customer the user is a member of; `path` leads to the memberships (`members`,
    `customer__members`), `also` says more of the same membership.

    An anonymous person never matches: compared with the key they lack, the query would find the
    customers that have no members at all.
    """
    if not user.is_active:
        return Q(pk__in=())
    return Q(**{f"{path}__user": user.pk}, **{f"{path}__{key}": of for key, of in also.items()})


def staff_view(right: Right = Right.SEE) -> Callable[[View[P]], View[P]]:
    """A view for staff with a right. For anyone else it does not exist (404); staff without the
    right get a 403."""

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if not is_staff(request.user):
                raise Http404
            if not may(request.user, right):
                raise PermissionDenied(right)
            return view(request, *args, **kwargs)

        return guarded

    return decorate
