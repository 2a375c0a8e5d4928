"""Pages of people for admins: who may sign in, and with which role."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final, cast

from django.contrib import messages
from django.db.models import Case, F, Q, Value, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from panel.accounts import invitations, people, sessions
from panel.accounts.people_forms import InviteForm, MemberForm, MemberRoleForm, StaffRoleForm
from panel.accounts.security_log import security_entries
from panel.lists.listing import ListColumn, ListDefinition, csv_of, list_page, wants_csv
from panel.models import Invitation, SecurityKind, User
from storage.access import Right, StaffRole, staff_view
from storage.models import Member
from storage.planner import Refused

LISTING: Final = ListDefinition(
    name="people",
    first="role",
    ties=("email",),
    columns=(
        ListColumn("person", "Person", F("email")),
        ListColumn(
            "role",
            "Role",
            Case(
                *(
                    When(staff_role=role.value, then=Value(place))
                    for place, role in enumerate((*reversed(StaffRole),))
                ),
                default=Value(len(StaffRole)),
            ),
        ),
        ListColumn("seen", "Last sign-in", F("last_login"), True),
        ListColumn("state", "State", F("is_active")),
    ),
    cells=(
        ("email", lambda user: user.email),
        ("name", lambda user: user.name),
        ("staff_role", lambda user: user.staff_role),
        (
            "customers",
            lambda user: "; ".join(f"{m.role} of {m.customer}" for m in user.memberships.all()),
        ),
        ("last_sign_in", lambda user: user.last_login),
        ("is_active", lambda user: user.is_active),
        ("joined_at", lambda user: user.date_joined),
    ),
)


@staff_view(Right.ADMINISTER)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def people_list(request: HttpRequest) -> HttpResponse:
    """Everybody, and the form that invites one more. `q` searches address, name and customer.
    The answer to an invitation shows its link, this once."""
    form = InviteForm(_me(request), request.POST or None)
    if request.method != "POST":
        return _people(request, form)
    shown = _invite(form) if form.is_valid() else {}
    return _people(
        request, form, shown, HTTPStatus.OK if shown else HTTPStatus.UNPROCESSABLE_ENTITY
    )


@staff_view(Right.ADMINISTER)
@never_cache
@require_POST
def invitation(request: HttpRequest, pk: int) -> HttpResponse:
    """Revoke an invitation that waits (`revoke`), or send a new link in its stead (`resend`), which
    the answer shows, this once."""
    waiting = get_object_or_404(Invitation.objects.open().select_related("customer", "user"), pk=pk)
    form = InviteForm(_me(request))
    if "resend" not in request.POST:
        invitations.revoke_invitation(waiting, _me(request))
        messages.success(request, f"The link for {waiting.email} no longer works.")
        return redirect("people")
    try:
        made, token = invitations.invite_again(waiting, _me(request))
    except Refused as refused:
        messages.error(request, f"{refused.message} {refused.correction}")
        return redirect("people")
    return _people(request, form, _shown(made, token))


def _people(
    request: HttpRequest,
    form: InviteForm,
    shown: dict[str, object] | None = None,
    code: int = HTTPStatus.OK,
) -> HttpResponse:
    text = request.GET.get("q", "").strip()
    matching = User.objects.visible_to(request.user).prefetch_related("memberships__customer")
    if text:
        members = Member.objects.filter(customer__name__icontains=text)
        matching = matching.filter(
            Q(email__icontains=text) | Q(name__icontains=text) | Q(pk__in=members.values("user"))
        )
    if wants_csv(request):
        return csv_of(request, LISTING, matching)
    listed = list_page(request, LISTING, matching)
    context = {
        "form": InviteForm(_me(request)) if shown else form,
        "list": listed,
        "page": listed.page,
        "q": text,
        "open": Invitation.objects.open().select_related("customer", "user"),
        **(shown or {}),
    }
    return render(request, "staff/people/people.html", context, status=code)


@staff_view(Right.ADMINISTER)
@never_cache
@require_safe
def person(request: HttpRequest, pk: int) -> HttpResponse:
    """One person: their roles, and what an admin may change about them."""
    return _page(request, _person(request, pk))


@staff_view(Right.ADMINISTER)
@require_POST
def change_role(request: HttpRequest, pk: int) -> HttpResponse:
    """Give a member of staff another role."""
    user = _person(request, pk)
    form = StaffRoleForm(request.POST)
    if not user.is_staff or not form.is_valid():
        return _page(request, user, code=HTTPStatus.UNPROCESSABLE_ENTITY)
    role = StaffRole(form.cleaned_data["staff_role"])
    try:
        people.give_role(user, role, _me(request))
    except Refused as refused:
        return _page(request, user, refused, code=HTTPStatus.UNPROCESSABLE_ENTITY)
    messages.success(request, f"{user} is now {role.label}.")
    return redirect("home" if user == request.user else "person", *_place(request, user))


@staff_view(Right.ADMINISTER)
@require_POST
def deactivate(request: HttpRequest, pk: int) -> HttpResponse:
    """They are signed out with their next request and cannot sign in; nothing is deleted."""
    user = _person(request, pk)
    try:
        people.deactivate(user, _me(request))
    except Refused as refused:
        return _page(request, user, refused, code=HTTPStatus.UNPROCESSABLE_ENTITY)
    messages.success(request, f"{user} is deactivated.")
    return redirect("home" if user == request.user else "person", *_place(request, user))


@staff_view(Right.ADMINISTER)
@require_POST
def reactivate(request: HttpRequest, pk: int) -> HttpResponse:
    """They may sign in again."""
    user = _person(request, pk)
    people.reactivate(user, _me(request))
    messages.success(request, f"{user} is reactivated.")
    return redirect("person", user.pk)


@staff_view(Right.ADMINISTER)
@require_POST
def sign_out(request: HttpRequest, pk: int) -> HttpResponse:
    """End all their sessions; they may sign in again."""
    user = _person(request, pk)
    live = sessions.live(user)
    here = request.session.session_key
    sessions.end_sessions([each for each in live if each.session_key != here])
    messages.success(request, f"{user} is signed out everywhere.")
    return redirect("person", user.pk)


@staff_view(Right.ADMINISTER)
@never_cache
@require_POST
def new_password(request: HttpRequest, pk: int) -> HttpResponse:
    """A link with which they choose a new password; the page shows it this once."""
    user = _person(request, pk)
    try:
        made, token = invitations.to_new_password(user, _me(request))
    except Refused as refused:
        return _page(request, user, refused, code=HTTPStatus.UNPROCESSABLE_ENTITY)
    return _page(request, user, shown=_shown(made, token))


@staff_view(Right.ADMINISTER)
@require_POST
def add_member(request: HttpRequest, pk: int) -> HttpResponse:
    """Add a person who is not staff to another customer."""
    user = _person(request, pk)
    form = MemberForm(_me(request), user, request.POST)
    if user.is_staff or not form.is_valid():
        return _page(request, user, member_form=form, code=HTTPStatus.UNPROCESSABLE_ENTITY)
    made = form.save()
    security_entries.note(SecurityKind.ROLE, user, f"{made.role} of {made.customer}")
    messages.success(request, f"{user} is now {made.role} of {made.customer}.")
    return redirect("person", user.pk)


@staff_view(Right.ADMINISTER)
@require_POST
def change_member(request: HttpRequest, pk: int) -> HttpResponse:
    """Another role in the same customer, or (`remove`) none."""
    member = get_object_or_404(Member.objects.select_related("user", "customer"), pk=pk)
    if "remove" in request.POST:
        member.delete()
        security_entries.note(SecurityKind.ROLE, member.user, f"removed from {member.customer}")
        messages.success(request, f"{member.user} no longer belongs to {member.customer}.")
        return redirect("person", member.user.pk)
    form = MemberRoleForm(request.POST, instance=member)
    if not form.is_valid():
        return _page(request, member.user, code=HTTPStatus.UNPROCESSABLE_ENTITY)
    form.save()
    security_entries.note(SecurityKind.ROLE, member.user, f"{member.role} of {member.customer}")
    messages.success(request, f"{member.user} is now {member.role} of {member.customer}.")
    return redirect("person", member.user.pk)


def _invite(form: InviteForm) -> dict[str, object]:
    try:
        made, token = form.invite()
    except Refused as refused:
        form.add_error(None, f"{refused.message} {refused.correction}")
        return {}
    return _shown(made, token)


def _shown(made: Invitation, token: str) -> dict[str, object]:
    """What shows a link once; where a mail server is set, the person gets it too."""
    return {
        "made": made,
        "link": invitations.link(token),
        "is_mailed": invitations.mail_invitation(made, token),
    }


def _page(
    request: HttpRequest,
    user: User,
    refusal: Refused | None = None,
    *,
    code: int = 200,
    member_form: MemberForm | None = None,
    shown: dict[str, object] | None = None,
) -> HttpResponse:
    context = {
        "person": user,
        "memberships": user.memberships.select_related("customer").order_by("customer__name"),
        "refusal": refusal,
        "is_last_admin": people.is_last_admin(user),
        "role_form": StaffRoleForm(initial={"staff_role": user.staff_role}),
        "member_form": member_form or MemberForm(_me(request), user),
        **(shown or {}),
    }
    return render(request, "staff/people/person.html", context, status=code)


def _person(request: HttpRequest, pk: int) -> User:
    return get_object_or_404(User.objects.visible_to(request.user), pk=pk)


def _place(request: HttpRequest, user: User) -> tuple[int, ...]:
    """Who takes a right from themselves may not see their own page any more."""
    return () if user == request.user else (user.pk,)


def _me(request: HttpRequest) -> User:
    return cast("User", request.user)
