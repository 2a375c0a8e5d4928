"""Who may do what, by role alone."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse

from panel.models import User
from storage.access import MemberRole, Right, StaffRole, is_staff, may, staff_view
from storage.models import Customer, Volume
from tests import make


def person(role: str = "", **fields: bool) -> User:
    return User(email="ann@example.org", staff_role=role, **fields)


@pytest.mark.parametrize(
    ("role", "rights"),
    [
        (StaffRole.READ_ONLY, {Right.SEE}),
        (StaffRole.OPERATOR, {Right.SEE, Right.OPERATE}),
        (StaffRole.ADMIN, set(Right)),
        ("", set()),
        ("unheard of", set()),
    ],
)
def test_a_role_has_its_rights_and_no_other(role: str, rights: set[Right]) -> None:
    assert {right for right in Right if may(person(role), right)} == rights


def test_who_is_deactivated_or_not_signed_in_has_no_right() -> None:
    for stranger in (person(StaffRole.ADMIN, is_active=False), AnonymousUser()):
        assert not is_staff(stranger)


def test_a_superuser_without_a_staff_role_is_not_staff() -> None:
    assert not is_staff(person(is_superuser=True))


@pytest.mark.parametrize(
    ("role", "refusal"),
    [("", Http404), (StaffRole.READ_ONLY, PermissionDenied), (StaffRole.OPERATOR, None)],
)
def test_a_staff_view_is_absent_for_strangers_and_closed_for_lower_roles(
    role: str, refusal: type[Exception] | None
) -> None:
    @staff_view(Right.OPERATE)
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse("done")

    request = HttpRequest()
    request.user = person(role)
    if refusal is None:
        assert view(request).status_code == 200
    else:
        with pytest.raises(refusal):
            view(request)


@pytest.mark.django_db
def test_members_see_and_order_for_their_own_customers_only() -> None:
    acme, zebra = make.customer(), make.customer()
    own, other = make.volume(customer=acme), make.volume(customer=zebra)
    unassigned = make.volume()
    for role in MemberRole:
        member = make.user()
        acme.members.create(user=member, role=role)
        assert list(Customer.objects.visible_to(member)) == [acme]
        assert list(Volume.objects.visible_to(member)) == [own]
        may_order = role != MemberRole.VIEWER
        assert list(Volume.objects.orderable_by(member)) == ([own] if may_order else [])
    staff = make.staff_user()
    assert set(Volume.objects.visible_to(staff)) == {own, other, unassigned}
    assert not Volume.objects.orderable_by(staff).exists()


@pytest.mark.django_db
def test_a_role_in_one_customer_is_none_in_the_other() -> None:
    acme, zebra = make.customer(), make.customer()
    volumes = [make.volume(customer=customer) for customer in (acme, zebra)]
    member = make.user()
    acme.members.create(user=member, role=MemberRole.OWNER)
    zebra.members.create(user=member, role=MemberRole.VIEWER)
    assert set(Volume.objects.visible_to(member)) == set(volumes)
    assert list(Volume.objects.orderable_by(member)) == [volumes[0]]
