"""The list of jobs and its filters."""

from __future__ import annotations

from typing import Final

from django import forms
from django.contrib import messages
from django.db.models import Case, DurationField, ExpressionWrapper, F, Q, Value, When
from django.db.models.functions import Coalesce, Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from jobs.models import OVER, BulkChange, Job, JobQuerySet, Kind, State
from panel.lists.listing import ListColumn, ListDefinition, csv_of, list_page, wants_csv
from panel.lists.named_choice import Suggesting, by_id
from storage.access import Person, Right, may, staff_view
from storage.bulk_changes import ACTIONS
from storage.models import Customer

BAD_REQUEST = 400
ACTIVE = "active"
STATES = (
    ("", "Any state"),
    (ACTIVE, "In progress"),
    *((state.value, state.label.capitalize()) for state in State),
)
KINDS = (("", "Any kind"), *Kind.choices)
URGENCY = Case(
    When(state=State.NEEDS_ATTENTION, then=Value(0)),
    When(state=State.RUNNING, then=Value(1)),
    When(state=State.WAITING, then=Value(2)),
    default=Value(3),
)
"""Among those that are not over."""
NAMED = (("host", "name"), ("volume", "label"), ("customer", "name"))

SHOWN_CHANGES: Final = 10
LISTING: Final = ListDefinition(
    name="jobs",
    ties=("-id",),
    columns=(
        ListColumn("job", "Job", F("kind")),
        ListColumn("state", "State", F("state")),
        ListColumn("volume", "Volume", F("volume__label_order")),
        ListColumn("host", "Host", F("host__name_order")),
        ListColumn("by", "Requested by", F("actor__email")),
        ListColumn("requested", "Requested", F("created_at"), True),
        ListColumn(
            "took",
            "Took",
            ExpressionWrapper(Coalesce("ended_at", Now()) - F("started_at"), DurationField()),
            True,
        ),
    ),
    cells=(
        ("key", lambda job: job.key),
        ("kind", lambda job: job.kind),
        ("preview", lambda job: job.dry_run),
        ("state", lambda job: job.state),
        ("volume", lambda job: job.volume.label if job.volume else ""),
        ("customer", lambda job: _customer_name(job)),
        ("host", lambda job: job.host.name),
        ("requested_by", lambda job: str(job.actor or "")),
        ("by_way_of", lambda job: job.origin),
        ("requested_at", lambda job: job.created_at),
        ("started_at", lambda job: job.started_at),
        ("ended_at", lambda job: job.ended_at),
        ("error", lambda job: job.error.get("message", "")),
    ),
)
"""Without an order of its own, what needs a person or runs comes first."""


def _customer_name(job: Job) -> str:
    customer = job.volume.customer if job.volume is not None else None
    return customer.name if customer is not None else ""


@staff_view()
@require_safe
def jobs(request: HttpRequest) -> HttpResponse:
    """Jobs by filters, what needs a person or runs first; without previews unless asked for."""
    form = JobFilter(request.GET)
    if unknown := [name for name in ("state", "kind") if form.has_error(name)]:
        # An old link, or a guess: the list without it is more use than an empty one.
        known = request.GET.copy()
        for name in unknown:
            messages.warning(
                request, f"There is no {name} “{known.pop(name)[-1]}”. It was ignored."
            )
        return redirect(f"{reverse('jobs')}?{known.urlencode()}")
    matching = form.found(listed_jobs(request.user), request.user)
    if wants_csv(request):
        return csv_of(request, LISTING, matching)
    shown = list_page(request, LISTING, matching)
    page = shown.page
    context = {
        "list": shown,
        "page": page,
        "filters": form,
        "is_live": any(not job.is_over for job in page),
        "bulk_changes": _bulk_changes(request),
    }
    code = 200 if form.is_valid() else BAD_REQUEST
    return render(request, "staff/jobs/jobs.html", context, status=code)


def _bulk_changes(request: HttpRequest) -> list[tuple[BulkChange, str]]:
    """The running bulk changes with what they do, for people who may see them."""
    if not may(request.user, Right.OPERATE):
        return []
    names = dict(ACTIONS)
    going = BulkChange.objects.visible_to(request.user).unfinished().select_related("actor")
    return [(each, names.get(each.action, "Bulk change")) for each in going[:SHOWN_CHANGES]]


class Part(forms.TextInput):
    """A word to look for."""

    def __init__(self) -> None:
        super().__init__({"placeholder": "name or key"})


class JobFilter(forms.Form):
    """The filters of the list, as the address has them."""

    state = forms.ChoiceField(choices=STATES, required=False)
    kind = forms.ChoiceField(choices=KINDS, required=False)
    host = forms.CharField(max_length=64, required=False, widget=Suggesting("hosts"))
    volume = forms.CharField(max_length=200, required=False, widget=Part)
    customer = forms.CharField(max_length=200, required=False, widget=Suggesting("customers"))
    mine = forms.BooleanField(required=False, label="Only mine")
    previews = forms.BooleanField(required=False, label="With previews")

    @property
    def is_narrow(self) -> bool:
        """Whether it asks for anything but the plain list."""
        return any(self.data.get(name) for name in self.fields)

    def found(self, jobs: JobQuerySet, user: Person) -> JobQuerySet:
        """Those of `jobs` that match, what needs a person or runs first, then the latest ended.
        Host, volume and customer by key or by a part of their name. None match a wrong filter."""
        if not self.is_valid():
            return jobs.none()
        filters = self.cleaned_data
        if not filters["previews"]:
            jobs = jobs.filter(dry_run=False)
        if filters["state"] == ACTIVE:
            jobs = jobs.exclude(state__in=OVER)
        elif filters["state"]:
            jobs = jobs.filter(state=filters["state"])
        if filters["kind"]:
            jobs = jobs.filter(kind=filters["kind"])
        for name, field in NAMED:
            if text := filters[name]:
                path = name if name != "customer" else "volume__customer"
                named = Q(**{f"{path}__key": text}) | Q(**{f"{path}__{field}__icontains": text})
                # As a suggestion names one of several customers with the same name.
                if name == "customer" and (row := by_id(Customer.objects.visible_to(user), text)):
                    named |= Q(volume__customer=row.pk)
                jobs = jobs.filter(named)
        if filters["mine"]:
            jobs = jobs.filter(actor=user.pk)
        return jobs.order_by(F("ended_at").desc(nulls_first=True), URGENCY, "-id")


def listed_jobs(user: Person) -> JobQuerySet:
    """What the person may see of the jobs, with all that a row of the list names."""
    return Job.objects.visible_to(user).with_names().select_related("volume__customer")
