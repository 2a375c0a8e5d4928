"""Forms for people: invite them, accept an invitation, change roles."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy

from panel.accounts import invitations
from panel.lists.named_choice import NamedChoiceField
from panel.models import Invitation, User
from storage.access import MemberRole, StaffRole
from storage.models import Customer, Member
from storage.name_validators import demand_name

STAFF_HELP = (
    "Read-only users see everything. Operators also change volumes and caches. Admins also "
    "approve hosts and manage users."
)
MEMBER_HELP = "Viewers see the volumes. Operators and owners also change cache plans."


class InviteForm(forms.Form):
    """A new person, either of the staff or of a customer. `by` sends the invitation."""

    email = forms.EmailField(label="E-mail address")
    staff_role = forms.ChoiceField(
        choices=[("", "none"), *((role.value, role.label) for role in StaffRole)],
        required=False,
        label="Staff role",
        help_text=STAFF_HELP,
    )
    customer = NamedChoiceField("customers", required=False, help_text="Type a part of the name.")
    member_role = forms.ChoiceField(
        choices=[(role.value, role.value) for role in MemberRole],
        required=False,
        initial=MemberRole.OWNER,
        label="Customer role",
        help_text=MEMBER_HELP,
    )

    def __init__(self, by: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.by = by
        field = cast("NamedChoiceField", self.fields["customer"])
        field.queryset = Customer.objects.visible_to(by)

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if bool(data.get("staff_role")) == bool(data.get("customer")) and not self.errors:
            raise ValidationError("Choose either a staff role or a customer.")
        return data

    def invite(self) -> tuple[Invitation, str]:
        """The invitation and its token; raises `Refused`."""
        data = self.cleaned_data
        if data["staff_role"]:
            return invitations.to_staff(data["email"], StaffRole(data["staff_role"]), self.by)
        role = MemberRole(data["member_role"] or MemberRole.VIEWER)
        return invitations.to_customer(data["email"], data["customer"], role, self.by)


class AcceptForm(forms.Form):
    """Name and password of the person who accepts an invitation. `email` is their address."""

    name = forms.CharField(
        max_length=150, label=gettext_lazy("Your name"), validators=[demand_name]
    )
    password = forms.CharField(
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        strip=False,
        label=gettext_lazy("Password"),
        help_text=gettext_lazy("At least 8 characters. Do not use a common password."),
    )

    def __init__(self, email: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.email = email

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if data.get("password"):
            try:
                validate_password(
                    data["password"], User(email=self.email, name=data.get("name", ""))
                )
            except ValidationError as error:
                self.add_error("password", error)
        return data


class StaffRoleForm(forms.Form):
    """Another role for a member of staff."""

    staff_role = forms.ChoiceField(
        choices=[(role.value, role.label) for role in StaffRole],
        label="Staff role",
        help_text=STAFF_HELP,
    )


class MemberForm(forms.ModelForm):  # type: ignore[type-arg]
    """Another customer for a person."""

    class Meta:
        model = Member
        fields = ("customer", "role")

    customer = NamedChoiceField("customers", help_text="Type a part of the name.")

    def __init__(self, by: User, person: User, *args: Any, **kwargs: Any) -> None:
        kwargs["instance"] = Member(user=person)
        super().__init__(*args, **kwargs)
        mine = person.memberships.values("customer")
        customers = Customer.objects.visible_to(by).exclude(pk__in=mine)
        field = cast("NamedChoiceField", self.fields["customer"])
        field.queryset = customers


class MemberRoleForm(forms.ModelForm):  # type: ignore[type-arg]
    """Another role in the same customer."""

    class Meta:
        model = Member
        fields = ("role",)
