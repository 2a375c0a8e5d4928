"""People, service accounts, invitations, and who belongs to which customer. For admins."""

from __future__ import annotations

from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from panel.accounts import invitations, people, sessions
from panel.accounts.people_forms import InviteForm
from panel.accounts.security_log import security_entries
from panel.api import request_bodies
from panel.api.framework import described
from panel.api.framework.api_lists import Listing
from panel.api.framework.resource import Resource, bad_parameter
from panel.api.framework.shape import Shape, show
from panel.api.resource_json import customer_ref, person_ref
from panel.api.response_shapes import Json, PersonRef, Ref
from panel.models import Invitation, Scope, SecurityKind, User
from storage.access import MemberRole, Right, StaffRole
from storage.models import Customer, Member

STAFF_ROLES = [role.value for role in StaffRole]
MEMBER_ROLES = [role.value for role in MemberRole]
KINDS = ("person", "service")


class MembershipShape(Shape):
    """What a person is in a customer."""

    key = serializers.CharField()
    url = serializers.CharField()
    person = PersonRef(help_text="Whose account it is.")
    customer = Ref()
    role = serializers.ChoiceField(choices=MEMBER_ROLES)


class PersonShape(Shape):
    """A person, or a program (`kind` service). `staff_role` is "" for people of customers."""

    key = serializers.CharField()
    url = serializers.CharField()
    kind = serializers.ChoiceField(choices=KINDS, help_text="person, or service for a program.")
    email = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    staff_role = serializers.ChoiceField(choices=STAFF_ROLES, allow_blank=True)
    active = serializers.BooleanField(help_text="False: signed out, and kept out.")
    joined_at = serializers.DateTimeField(help_text="When the account was made.")
    last_sign_in_at = serializers.DateTimeField(
        allow_null=True, help_text="When they signed in last; null: never."
    )
    memberships = MembershipShape(many=True, help_text="The customers that they belong to.")


class InvitationShape(Shape):
    """A one-time link. `link` only in the answer that made it: it lets somebody in."""

    key = serializers.CharField()
    url = serializers.CharField(help_text="What DELETE revokes.")
    email = serializers.CharField(help_text="E-mail address of who is invited.")
    staff_role = serializers.CharField(allow_blank=True)
    customer = Ref(allow_null=True)
    member_role = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    mailed = serializers.BooleanField(required=False, help_text="Whether it was sent by mail.")
    link = serializers.CharField(
        required=False,
        allow_null=True,
        help_text="The link, which lets somebody in; only in the answer that made it, null in "
        "its replay.",
    )


class InviteBody(request_bodies.Body):
    """Somebody new: `staff_role`, or `customer` and `member_role`."""

    email = serializers.CharField(max_length=254, help_text="E-mail address of who is invited.")
    staff_role = serializers.ChoiceField(choices=STAFF_ROLES, required=False)
    customer = serializers.CharField(required=False, help_text="Key of the customer.")
    member_role = serializers.ChoiceField(choices=MEMBER_ROLES, required=False)


class PersonBody(request_bodies.Body):
    """What an admin may change about somebody."""

    staff_role = serializers.ChoiceField(
        choices=STAFF_ROLES, required=False, help_text="Of somebody of the staff."
    )
    active = serializers.BooleanField(
        required=False, help_text="false: signed out with the next request, and kept out."
    )


class ServiceBody(request_bodies.Body):
    """An account for a program."""

    name = serializers.RegexField(
        r"\A[a-z0-9][a-z0-9-]{0,62}\Z", help_text="a-z, 0-9 and dashes; its address follows."
    )
    staff_role = serializers.ChoiceField(choices=STAFF_ROLES)


class MembershipBody(request_bodies.Body):
    """Who, and as what."""

    email = serializers.CharField(max_length=254, help_text="Of somebody who has an account.")
    role = serializers.ChoiceField(choices=MEMBER_ROLES)


class MemberRoleBody(request_bodies.Body):
    """Another role in the same customer."""

    role = serializers.ChoiceField(choices=MEMBER_ROLES)


class AdminResource(Resource):
    """For admins alone, whatever is asked."""

    read_scope = Scope.PEOPLE_READ
    staff_only = True
    write_scope = Scope.PEOPLE

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Who is no admin learns nothing of others, not even who is there."""
        super().initial(request, *args, **kwargs)
        self.demand(Right.ADMINISTER)


class People(AdminResource):
    """Everybody who has an account."""

    listing: ClassVar = Listing(
        "people",
        PersonShape,
        order=("date_joined", "id"),
        time="joined_at",
        sorts={"email": "email", "name": "name"},
    )
    parameters: ClassVar = {"GET": (*listing.parameters, "search", "kind")}

    @extend_schema(
        operation_id="people_list",
        summary="List people and service accounts",
        parameters=[
            *listing.described,
            described.query("search", "Part of the address, the name, or a customer's name."),
            described.query("kind", "Only these.", enum=list(KINDS)),
        ],
        responses={
            200: listing.page_shape("PersonPage"),
            **described.problems(400, 403, 404),
        },
    )
    def get(self, request: Request) -> Response:
        """For admins. Who was added first comes first."""
        rows = _people(self)
        if text := request.query_params.get("search"):
            members = Member.objects.filter(customer__name__icontains=text)
            known = Q(email__icontains=text) | Q(name__icontains=text)
            rows = rows.filter(known | Q(pk__in=members.values("user")))
        if (kind := request.query_params.get("kind")) is not None:
            if kind not in KINDS:
                raise bad_parameter("kind", "invalid", f"One of {', '.join(KINDS)}.")
            rows = rows.filter(is_service=kind == "service")
        return self.listing.answer(request, rows, lambda page: map(person_json, page))


class OnePerson(AdminResource):
    """One account."""

    measured = ("last_sign_in_at",)

    @extend_schema(
        operation_id="person",
        summary="Show a person",
        responses={200: PersonShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """For admins."""
        return Response(person_json(_person(self, key)))

    @extend_schema(
        operation_id="person_change",
        summary="Change a person's role, or keep them out",
        request=PersonBody,
        responses={200: PersonShape, **described.problems(403, 404, 422)},
    )
    def patch(self, request: Request, key: str) -> Response:
        """For admins. The last active admin keeps the role (`last_admin`)."""
        person = _person(self, key)
        values = request_bodies.read(request, PersonBody, partial=True)
        if "staff_role" in values:
            if not person.is_staff:
                raise request_bodies.unfit("staff_role", "Only staff have such a role.")
            people.give_role(person, StaffRole(values["staff_role"]), self.user)
        if values.get("active") is False and person.is_active:
            people.deactivate(person, self.user)
        elif values.get("active") is True and not person.is_active:
            people.reactivate(person, self.user)
        return Response(person_json(_person(self, key)))

    @extend_schema(
        operation_id="person_delete",
        summary="Delete an account",
        responses={204: None, **described.problems(403, 404, 409, 422)},
    )
    def delete(self, request: Request, key: str) -> Response:
        """For admins. With its tokens and its roles in customers. An account that jobs, orders or
        other history name is kept (`in_use`): keep it out with `active` false."""
        people.delete(_person(self, key), self.user)
        return Response(status=204)


class PersonSessions(AdminResource):
    """Where a person is signed in."""

    @extend_schema(
        operation_id="person_sign_out",
        summary="Sign a person out everywhere",
        responses={204: None, **described.problems(403, 404)},
    )
    def delete(self, request: Request, key: str) -> Response:
        """For admins. They may sign in again; their tokens stay."""
        sessions.end_sessions(list(sessions.live(_person(self, key))))
        return Response(status=204)


class PersonPassword(AdminResource):
    """A new password for somebody."""

    takes_no_body = True
    once_only = ("link",)

    @extend_schema(
        operation_id="person_password_link",
        summary="Make a link for a new password",
        request=None,
        responses={201: InvitationShape, **described.problems(403, 404, 422)},
    )
    def post(self, request: Request, key: str) -> Response:
        """For admins. The person chooses the password with the link, within an hour."""
        return _invited(*invitations.to_new_password(_person(self, key), self.user))


class ServiceAccounts(AdminResource):
    """Accounts of programs."""

    @extend_schema(
        operation_id="service_account_make",
        summary="Make a service account",
        request=ServiceBody,
        responses={201: PersonShape, **described.problems(403, 404, 422)},
    )
    def post(self, request: Request) -> Response:
        """For admins. It has tokens (`POST /tokens/` with its address as `user`), and nobody signs
        in as it, so that no integration ends with an employee. `GET /people/?kind=service` lists
        them; `active` false ends one, and DELETE removes one that did nothing yet."""
        values = request_bodies.read(request, ServiceBody)
        made = people.add_service(values["name"], StaffRole(values["staff_role"]), self.user)
        data = person_json(made)
        return Response(data, status=201, headers={"Location": data["url"]})


class Invitations(AdminResource):
    """Links that wait for somebody."""

    once_only = ("link",)
    listing: ClassVar = Listing(
        "invitations",
        InvitationShape,
        order=("created_at", "id"),
        newest_first=True,
        searched=("email",),
        search_text="Part of the address.",
    )
    parameters: ClassVar = {"GET": listing.parameters}

    @extend_schema(
        operation_id="invitations_list",
        summary="List invitations that wait",
        parameters=listing.described,
        responses={200: listing.page_shape("InvitationPage"), **described.problems(400, 403, 404)},
    )
    def get(self, request: Request) -> Response:
        """For admins. Newest first, without their links; each ends by itself after three days."""
        waiting = Invitation.objects.open().select_related("customer", "user")
        return self.listing.answer(
            request, waiting, lambda page: (show(InvitationShape, invitation_json(e)) for e in page)
        )

    @extend_schema(
        operation_id="invitation_make",
        summary="Invite somebody",
        request=InviteBody,
        responses={201: InvitationShape, **described.problems(403, 404, 422)},
    )
    def post(self, request: Request) -> Response:
        """For admins. The answer has the link, this once; with a mail server set, the person gets
        it too."""
        values = request_bodies.read(request, InviteBody)
        if (key := values.get("customer")) is not None:
            values["customer"] = request_bodies.customer_of(key, self.user)
        form = InviteForm(self.user, values)
        if not form.is_valid():
            raise request_bodies.unprocessable(ValidationError(form.errors.as_data()))
        return _invited(*form.invite())


class OneInvitation(AdminResource):
    """One link that waits."""

    @extend_schema(
        operation_id="invitation_revoke",
        summary="Revoke an invitation",
        responses={204: None, **described.problems(403, 404)},
    )
    def delete(self, request: Request, key: str) -> Response:
        """For admins. Its link lets nobody in any more."""
        invitations.revoke_invitation(_invitation(key), self.user)
        return Response(status=204)


class InvitationAgain(AdminResource):
    """A new link in the place of an old one."""

    takes_no_body = True
    once_only = ("link",)

    @extend_schema(
        operation_id="invitation_renew",
        summary="Send an invitation again",
        request=None,
        responses={201: InvitationShape, **described.problems(403, 404, 422)},
    )
    def post(self, request: Request, key: str) -> Response:
        """For admins. The old link no longer works."""
        return _invited(*invitations.invite_again(_invitation(key), self.user))


class CustomerMembers(AdminResource):
    """Who belongs to a customer."""

    listing: ClassVar = Listing("members", MembershipShape, order=("created_at", "id"))
    parameters: ClassVar = {"GET": listing.parameters}

    @extend_schema(
        operation_id="members_list",
        summary="List the people of a customer",
        parameters=listing.described,
        responses={200: listing.page_shape("MembershipPage"), **described.problems(400, 403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """For admins."""
        customer = get_object_or_404(Customer.objects.visible_to(self.user), key=key)
        rows = _members().filter(customer=customer)
        return self.listing.answer(request, rows, lambda page: map(member_json, page))

    @extend_schema(
        operation_id="member_make",
        summary="Give somebody a role in a customer",
        request=MembershipBody,
        responses={201: MembershipShape, **described.problems(403, 404, 422)},
    )
    def post(self, request: Request, key: str) -> Response:
        """For admins. Somebody who has an account and is not of the staff; others are invited."""
        customer = get_object_or_404(Customer.objects.visible_to(self.user), key=key)
        values = request_bodies.read(request, MembershipBody)
        person = User.objects.filter(email__iexact=values["email"]).first()
        if person is None:
            raise request_bodies.unfit("email", "Nobody has this address: invite them.")
        if person.is_staff:
            raise request_bodies.unfit("email", "Staff see every customer.")
        if Member.objects.filter(customer=customer, user=person).exists():
            raise request_bodies.unfit("email", "This person belongs to the customer already.")
        made = Member.objects.create(customer=customer, user=person, role=values["role"])
        security_entries.note(SecurityKind.ROLE, person, f"{made.role} of {customer}", by=self.user)
        data = member_json(made)
        return Response(data, status=201, headers={"Location": data["url"]})


class OneMember(AdminResource):
    """One role of one person in one customer."""

    @extend_schema(
        operation_id="member",
        summary="Show a membership",
        responses={200: MembershipShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """For admins."""
        return Response(member_json(_member(key)))

    @extend_schema(
        operation_id="member_change",
        summary="Change a role in a customer",
        request=MemberRoleBody,
        responses={200: MembershipShape, **described.problems(403, 404, 422)},
    )
    def patch(self, request: Request, key: str) -> Response:
        """For admins."""
        member = _member(key)
        member.role = request_bodies.read(request, MemberRoleBody, partial=True)["role"]
        member.save(update_fields=["role"])
        text = f"{member.role} of {member.customer}"
        security_entries.note(SecurityKind.ROLE, member.user, text, by=self.user)
        return Response(member_json(member))

    @extend_schema(
        operation_id="member_remove",
        summary="Take a person out of a customer",
        responses={204: None, **described.problems(403, 404)},
    )
    def delete(self, request: Request, key: str) -> Response:
        """For admins. The account stays."""
        member = _member(key)
        member.delete()
        text = f"removed from {member.customer}"
        security_entries.note(SecurityKind.ROLE, member.user, text, by=self.user)
        return Response(status=204)


def person_json(person: User) -> Json:
    """An account, for `PersonShape`."""
    return PersonShape(
        {
            **person_ref(person),
            "kind": "service" if person.is_service else "person",
            "name": person.name,
            "staff_role": person.staff_role,
            "active": person.is_active,
            "joined_at": person.date_joined,
            "last_sign_in_at": person.last_login,
            "memberships": [member_json(each, person) for each in person.memberships.all()],
        }
    ).data


def member_json(member: Member, person: User | None = None) -> Json:
    """A membership, for `MembershipShape`."""
    return MembershipShape(
        {
            "key": member.key,
            "url": reverse("api-member", args=[member.key]),
            "person": person_ref(person or member.user),
            "customer": customer_ref(member.customer),
            "role": member.role,
        }
    ).data


def invitation_json(made: Invitation) -> Json:
    """An invitation without its link, for `InvitationShape`."""
    names = ("email", "staff_role", "member_role", "created_at", "expires_at")
    data: Json = {name: getattr(made, name) for name in names}
    url = reverse("api-invitation", args=[made.key])
    return {**data, "key": made.key, "url": url, "customer": customer_ref(made.customer)}


def _invited(made: Invitation, token: str) -> Response:
    shown = {"link": invitations.link(token), "mailed": invitations.mail_invitation(made, token)}
    data = InvitationShape({**invitation_json(made), **shown}).data
    return Response(data, status=201, headers={"Location": data["url"]})


def _people(view: Resource) -> QuerySet[User]:
    return User.objects.visible_to(view.user).prefetch_related("memberships__customer")


def _person(view: Resource, key: str) -> User:
    return get_object_or_404(_people(view), _named(key))


def _members() -> QuerySet[Member]:
    return Member.objects.select_related("user", "customer").order_by("pk")


def _member(key: str) -> Member:
    return get_object_or_404(_members(), _named(key))


def _invitation(key: str) -> Invitation:
    waiting = Invitation.objects.open().select_related("customer", "user")
    return get_object_or_404(waiting, _named(key))


def _named(key: str) -> Q:
    """What has the key. The running numbers that keys were at first are understood until the next
    version of the API; no key consists of digits alone."""
    is_number = key.isascii() and key.isdigit() and len(key) < 10
    return Q(pk=int(key)) if is_number else Q(key=key)
