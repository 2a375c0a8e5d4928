"""People, service accounts, invitations, and who belongs to which customer. For admins."""

from __future__ import annotations

from datetime import date
from typing import Any, ClassVar, Final

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from panel.accounts import invitations, people, sessions
from panel.accounts.people_forms import InviteForm
from panel.accounts.security_log import security_entries
from panel.api.customers.customer_endpoints import customer_of
from panel.api.deprecations import Deprecation, is_number
from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import operation
from panel.api.framework.bodies import Body, unfit
from panel.api.framework.fields import Boolean, Choice, DateTime, Pattern, Text
from panel.api.framework.parameters import OneOf, Parameter
from panel.api.framework.refs import Noun, PersonRef, Ref, url_of
from panel.api.framework.resource import Resource
from panel.models import Invitation, Scope, SecurityKind, User
from storage.access import MemberRole, Right, StaffRole
from storage.models import Customer, Member

STAFF_ROLES = [role.value for role in StaffRole]
MEMBER_ROLES = [role.value for role in MemberRole]
KINDS = ("person", "service")
NUMBERS: Final = Deprecation("running_numbers", date(2026, 11, 26))


class MembershipShape(Noun):
    """The role of a person in a customer."""

    person = PersonRef("Whose account it is.", of="user")
    customer = Ref("The customer.")
    role = Choice("Role in the customer.", MEMBER_ROLES)


class PersonShape(Noun):
    """A person, or a program (`kind` service). `staff_role` is "" for people of customers."""

    kind = Choice(
        "person, or service for a program.",
        KINDS,
        of=lambda person: "service" if person.is_service else "person",
    )
    email = Text("E-mail address of the account.")
    name = Text("Display name.")
    staff_role = Choice(
        "Role in the staff; empty: not of the staff.", STAFF_ROLES, allow_blank=True
    )
    active = Boolean("False: the account is deactivated.", of="is_active")
    joined_at = DateTime("When the account was created.", of="date_joined")
    last_sign_in_at = DateTime("When they last signed in; null: never.", of="last_login", null=True)
    memberships = MembershipShape("Their customers.", many=True)


class InvitationShape(Noun):
    """A one-time link. `link` is only in the answer that created it: it grants access."""

    url = Text("What DELETE revokes.", of=url_of)
    email = Text("E-mail address of the invited person.")
    staff_role = Text("Role in the staff; empty: not of the staff.")
    customer = Ref("The customer.", null=True)
    member_role = Text("Role in the customer; empty: of the staff.")
    created_at = DateTime("When it was created.")
    expires_at = DateTime("When it ends.")
    mailed = Boolean("Whether it was sent by mail.", required=False)
    link = Text(
        "The link, which grants access; only in the answer that created it, null in its replay.",
        null=True,
        required=False,
    )


class InviteBody(Body):
    """A new person: `staff_role`, or `customer` and `member_role`."""

    email = Text("E-mail address of the invited person.", max_length=254)
    staff_role = Choice("Role in the staff; empty: not of the staff.", STAFF_ROLES, required=False)
    customer = Text("Key of the customer.", required=False)
    member_role = Choice("Role in the customer; empty: of the staff.", MEMBER_ROLES, required=False)


class PersonBody(Body):
    """What an admin may change about a person."""

    staff_role = Choice("Role of a member of staff.", STAFF_ROLES, required=False)
    active = Boolean("False: signed out at the next request, and cannot sign in.", required=False)


class ServiceBody(Body):
    """An account for a program."""

    name = Pattern("a-z, 0-9 and dashes; its address follows.", r"\A[a-z0-9][a-z0-9-]{0,62}\Z")
    staff_role = Choice("Role in the staff; empty: not of the staff.", STAFF_ROLES)


class MembershipBody(Body):
    """A person and their role."""

    email = Text("Of a person who has an account.", max_length=254)
    role = Choice("Role in the customer.", MEMBER_ROLES)


class MemberRoleBody(Body):
    """Another role in the same customer."""

    role = Choice("Role in the customer.", MEMBER_ROLES)


class AdminResource(Resource):
    """For admins only, with every method."""

    read_scope = Scope.PEOPLE_READ
    staff_only = True
    write_scope = Scope.PEOPLE

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Only an admin sees other people, or that they exist."""
        super().initial(request, *args, **kwargs)
        self.demand(Right.ADMINISTER)

    def people(self) -> QuerySet[User]:
        """Everybody who has an account."""
        return User.objects.visible_to(self.user).prefetch_related("memberships__customer")

    def person(self, key: str) -> User:
        """The one of this key."""
        return get_object_or_404(self.people(), _named(key))

    def waiting(self) -> QuerySet[Invitation]:
        """Invitations that were not used yet."""
        return Invitation.objects.open().select_related("customer", "user")

    def invitation(self, key: str) -> Invitation:
        """The one of this key."""
        return get_object_or_404(self.waiting(), _named(key))

    def invited(self, made: Invitation, token: str) -> Response:
        """The invitation with its link, this once."""
        mailed = invitations.mail_invitation(made, token)
        return self.shown(made, status=201, link=invitations.link(token), mailed=mailed)

    def members(self) -> QuerySet[Member]:
        """Who belongs to which customer."""
        return Member.objects.select_related("user", "customer").order_by("pk")

    def member(self, key: str) -> Member:
        """The one of this key."""
        return get_object_or_404(self.members(), _named(key))


def _named(key: str) -> Q:
    """What has the key, or the running number that was its key at first."""
    return Q(pk=int(key)) if is_number(key) else Q(key=key)


def _with_text(text: str) -> Q:
    members = Member.objects.filter(customer__name__icontains=text)
    known = Q(email__icontains=text) | Q(name__icontains=text)
    return known | Q(pk__in=members.values("user"))


class People(AdminResource):
    """Everybody who has an account."""

    listing: ClassVar = Listing(
        "people",
        PersonShape,
        order=("date_joined", "id"),
        time="joined_at",
        sorts={"email": "email", "name": "name"},
        filters=(
            Parameter("search", "Part of the address, the name, or a customer's name.", _with_text),
            OneOf(
                "kind",
                "Only these.",
                lambda kind: Q(is_service=kind == "service"),
                values=KINDS,
            ),
        ),
    )

    @operation("people_list", "List people and service accounts", listing)
    def get(self, request: Request) -> Response:
        """For admins. Oldest first."""
        return self.page(self.people())


class OnePerson(AdminResource):
    """One account."""

    old_keys = NUMBERS
    measured = ("last_sign_in_at",)

    @operation("person", "Show a person", PersonShape)
    def get(self, request: Request, key: str) -> Response:
        """For admins."""
        return self.shown(self.person(key))

    @operation(
        "person_change", "Change a person's role, or deactivate them", PersonShape, body=PersonBody
    )
    def patch(self, request: Request, key: str) -> Response:
        """For admins. The last active admin keeps the role (`last_admin`)."""
        person = self.person(key)
        values = self.read()
        if "staff_role" in values:
            if not person.is_staff:
                raise unfit("staff_role", "Only staff have this role.")
            people.give_role(person, StaffRole(values["staff_role"]), self.user)
        if values.get("active") is False and person.is_active:
            people.deactivate(person, self.user)
        elif values.get("active") is True and not person.is_active:
            people.reactivate(person, self.user)
        return self.shown(self.person(key))

    @operation("person_delete", "Delete an account", problems=(409, 422))
    def delete(self, request: Request, key: str) -> Response:
        """For admins. Also deletes its tokens and its roles in customers. Refused (`in_use`) for an
        account that jobs, orders or other history name: set `active` to false instead."""
        people.delete(self.person(key), self.user)
        return Response(status=204)


class PersonSessions(AdminResource):
    """Where a person is signed in."""

    old_keys = NUMBERS

    @operation("person_sign_out", "Sign a person out everywhere")
    def delete(self, request: Request, key: str) -> Response:
        """For admins. They may sign in again; their tokens stay."""
        sessions.end_sessions(list(sessions.live(self.person(key))))
        return Response(status=204)


class PersonPassword(AdminResource):
    """A new password for a person."""

    old_keys = NUMBERS
    once_only = ("link",)

    @operation(
        "person_password_link",
        "Create a link for a new password",
        InvitationShape,
        status=201,
        problems=(422,),
    )
    def post(self, request: Request, key: str) -> Response:
        """For admins. The person chooses the password with the link, within an hour."""
        return self.invited(*invitations.to_new_password(self.person(key), self.user))


class ServiceAccounts(AdminResource):
    """Accounts of programs."""

    @operation(
        "service_account_make",
        "Create a service account",
        PersonShape,
        status=201,
        body=ServiceBody,
    )
    def post(self, request: Request) -> Response:
        """For admins. It has tokens (`POST /tokens/` with its address as `user`) and no sign-in, so
        that integrations outlast employees. `GET /people/?kind=service` lists them; `active` false
        deactivates one, and DELETE removes one that was never used."""
        values = self.read()
        made = people.add_service(values["name"], StaffRole(values["staff_role"]), self.user)
        return self.shown(made, status=201)


class Invitations(AdminResource):
    """Links that were not used yet."""

    once_only = ("link",)
    listing: ClassVar = Listing(
        "invitations",
        InvitationShape,
        order=("created_at", "id"),
        newest_first=True,
        searched=("email",),
        search_text="Part of the address.",
    )

    @operation("invitations_list", "List pending invitations", listing)
    def get(self, request: Request) -> Response:
        """For admins. Newest first, without links; each expires after three days."""
        return self.page(self.waiting())

    @operation("invitation_make", "Invite a person", InvitationShape, status=201, body=InviteBody)
    def post(self, request: Request) -> Response:
        """For admins. The answer has the link; it is shown only once. With a mail server, the panel
        also mails it to the person."""
        values = self.read()
        if (key := values.get("customer")) is not None:
            values["customer"] = customer_of(key, self.user)
        form = InviteForm(self.user, values)
        if not form.is_valid():
            raise ValidationError(form.errors.as_data())
        return self.invited(*form.invite())


class OneInvitation(AdminResource):
    """One link that waits."""

    old_keys = NUMBERS

    @operation("invitation_revoke", "Revoke an invitation")
    def delete(self, request: Request, key: str) -> Response:
        """For admins. Its link no longer works."""
        invitations.revoke_invitation(self.invitation(key), self.user)
        return Response(status=204)


class InvitationAgain(AdminResource):
    """A new link in the place of an old one."""

    old_keys = NUMBERS
    once_only = ("link",)

    @operation(
        "invitation_renew", "Send an invitation again", InvitationShape, status=201, problems=(422,)
    )
    def post(self, request: Request, key: str) -> Response:
        """For admins. The old link no longer works."""
        return self.invited(*invitations.invite_again(self.invitation(key), self.user))


class CustomerMembers(AdminResource):
    """Who belongs to a customer."""

    listing: ClassVar = Listing("members", MembershipShape, order=("created_at", "id"))

    @operation("members_list", "List the people of a customer", listing)
    def get(self, request: Request, key: str) -> Response:
        """For admins."""
        customer = get_object_or_404(Customer.objects.visible_to(self.user), key=key)
        return self.page(self.members().filter(customer=customer))

    @operation(
        "member_make",
        "Give a person a role in a customer",
        MembershipShape,
        status=201,
        body=MembershipBody,
    )
    def post(self, request: Request, key: str) -> Response:
        """For admins. For a person who has an account and is not staff. Invite others."""
        customer = get_object_or_404(Customer.objects.visible_to(self.user), key=key)
        values = self.read()
        person = User.objects.filter(email__iexact=values["email"]).first()
        if person is None:
            raise unfit("email", "No account has this address: invite the person.")
        if person.is_staff:
            raise unfit("email", "Staff see every customer.")
        if Member.objects.filter(customer=customer, user=person).exists():
            raise unfit("email", "This person already belongs to the customer.")
        made = Member.objects.create(customer=customer, user=person, role=values["role"])
        security_entries.note(SecurityKind.ROLE, person, f"{made.role} of {customer}", by=self.user)
        return self.shown(made, status=201)


class OneMember(AdminResource):
    """One role of one person in one customer."""

    old_keys = NUMBERS

    @operation("member", "Show a membership", MembershipShape)
    def get(self, request: Request, key: str) -> Response:
        """For admins."""
        return self.shown(self.member(key))

    @operation("member_change", "Change a role in a customer", MembershipShape, body=MemberRoleBody)
    def patch(self, request: Request, key: str) -> Response:
        """For admins."""
        member = self.member(key)
        member.role = self.read()["role"]
        member.save(update_fields=["role"])
        text = f"{member.role} of {member.customer}"
        security_entries.note(SecurityKind.ROLE, member.user, text, by=self.user)
        return self.shown(member)

    @operation("member_remove", "Remove a person from a customer")
    def delete(self, request: Request, key: str) -> Response:
        """For admins. The account stays."""
        member = self.member(key)
        member.delete()
        text = f"removed from {member.customer}"
        security_entries.note(SecurityKind.ROLE, member.user, text, by=self.user)
        return Response(status=204)
