"""The list of alerts, open and resolved, and its filters."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from django import forms
from django.db.models import Case, Count, Exists, F, OuterRef, Q, Value, When
from django.db.models.functions import Coalesce, NullIf
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from jobs.alerts.alert_rules import fingerprint_of
from jobs.models import Alert, AlertRound
from jobs.models.alert import AlertQuerySet
from jobs.problems import Problem
from panel.deliveries.alerts.alert_texts import (
    KINDS_BY_SUBJECT,
    SEVERITY_CHIPS,
    name_of,
    state_of_alert,
)
from panel.lists.listing import ListColumn, ListDefinition, csv_of, list_page, wants_csv
from panel.lists.named_choice import Suggesting, by_id
from panel.models import AlertRoute
from panel.models.alert_route import with_message_counts
from panel.staff.hosts.problem_rows import AlertMark
from storage.access import Person, staff_view
from storage.database_clock import database_now
from storage.models import Customer

BAD_REQUEST: Final = 400
STATES: Final = (
    ("", "Open"),
    ("waiting", "Open, unacknowledged"),
    ("acknowledged", "Open, acknowledged"),
    ("hushed", "Open, silenced or in maintenance"),
    ("resolved", "Resolved"),
    ("all", "Open and resolved"),
)
SEVERITIES: Final = (
    ("", "Any severity"),
    ("0", "Data at risk"),
    ("1", "Errors and worse"),
    ("2", "Warnings only"),
)
STALE_SECONDS: Final = 120
"""Without a round for this long, the page warns that it may be out of date."""

PLACE: Final = Case(
    When(resolved_at__isnull=False, then=Value(2)),
    When(Q(acknowledged_at__isnull=False) | ~Q(muted_by=""), then=Value(1)),
    default=Value(0),
)
"""Unacknowledged alerts first, then acknowledged and muted ones, then resolved ones."""

LISTING: Final = ListDefinition(
    name="alerts",
    ties=("-id",),
    columns=(
        ListColumn("alert", "Alert", Coalesce(NullIf("gravest_code", Value("")), "code")),
        ListColumn("state", "State", PLACE),
        ListColumn("host", "Host", F("host__name_order")),
        ListColumn("volume", "Subject", F("volume__label_order")),
        ListColumn("opened", "Opened", F("opened_at"), True),
        ListColumn("lasted", "Resolved", F("resolved_at"), True),
    ),
    cells=(
        ("key", lambda alert: alert.key),
        ("code", lambda alert: alert.code),
        ("severity", lambda alert: alert.severity),
        ("data_at_risk", lambda alert: alert.rank == 0),
        ("state", lambda alert: state_of_alert(alert).text),
        ("host", lambda alert: alert.place),
        ("volume", lambda alert: alert.volume.label if alert.volume else ""),
        ("subject", lambda alert: alert.subject),
        ("job", lambda alert: alert.job.key if alert.job else ""),
        ("message", lambda alert: alert.message),
        ("opened_at", lambda alert: alert.opened_at),
        ("told_at", lambda alert: alert.notified_at),
        *(
            (f"messages_{state}", attrgetter(f"messages_{state}"))
            for state in ("delivered", "waiting", "given_up")
        ),
        ("acknowledged_at", lambda alert: alert.acknowledged_at),
        ("acknowledged_by", lambda alert: str(alert.acknowledged_by or "")),
        ("acknowledged_reason", lambda alert: alert.acknowledged_reason),
        ("resolved_at", lambda alert: alert.resolved_at),
        ("openings", lambda alert: alert.openings),
        ("follows_from", lambda alert: alert.cause.key if alert.cause else ""),
    ),
)
"""Without an order of its own, the gravest comes first, then the latest."""


@staff_view()
@require_safe
def alerts(request: HttpRequest) -> HttpResponse:
    """Open alerts, the gravest first; `state` selects others, and `follows` adds those that follow
    from another one."""
    form = AlertFilter(request.GET)
    matching = form.matching(request.user)
    if wants_csv(request):
        return csv_of(request, LISTING, with_message_counts(matching))
    shown = list_page(request, LISTING, matching)
    context = {
        "list": shown,
        "page": shown.page,
        "filters": form,
        "rows": [
            (alert, state_of_alert(alert), name_of(alert.title_code), SEVERITY_CHIPS[alert.rank])
            for alert in shown.page
        ],
        "is_stale": is_stale(),
        "has_no_recipients": not AlertRoute.objects.in_use().exists(),
        "has_any": Alert.objects.visible_to(request.user).exists(),
    }
    code = 200 if form.is_valid() else BAD_REQUEST
    return render(request, "staff/alerts/alerts.html", context, status=code)


def is_stale() -> bool:
    """Whether alerts have not been judged lately, so that none can open."""
    last = AlertRound.objects.values_list("at", flat=True).first()
    return last is None or (database_now() - last).total_seconds() > STALE_SECONDS


class AlertFilter(forms.Form):
    """The filters of the list, as in the address."""

    state = forms.ChoiceField(choices=STATES, required=False)
    severity = forms.ChoiceField(choices=SEVERITIES, required=False)
    code = forms.ChoiceField(
        choices=(("", "Any kind"), *KINDS_BY_SUBJECT), required=False, label="Kind"
    )
    host = forms.CharField(max_length=64, required=False, widget=Suggesting("hosts"))
    volume = forms.CharField(
        max_length=200, required=False, widget=forms.TextInput({"placeholder": "Name or key"})
    )
    customer = forms.CharField(max_length=200, required=False, widget=Suggesting("customers"))
    follows = forms.BooleanField(required=False, label="Include related alerts")

    @property
    def is_narrow(self) -> bool:
        """Whether any filter is set."""
        return any(self.data.get(name) for name in self.fields)

    def matching(self, user: Person) -> AlertQuerySet:
        """The alerts that match the filters; none where a filter is invalid."""
        alerts = Alert.objects.visible_to(user)
        if not self.is_valid():
            return alerts.none()
        asked = self.cleaned_data
        alerts = alerts.of_state(asked["state"])
        if not asked["follows"]:
            # An effect of a resolved alert is listed on its own.
            led = Alert.objects.filter(pk=OuterRef("cause"), resolved_at=None)
            alerts = alerts.filter(Q(cause=None) | Q(resolved_at=None) & ~Exists(led))
        if asked["severity"]:
            rank = int(asked["severity"])
            alerts = alerts.filter(rank=2) if rank == 2 else alerts.filter(rank__lte=rank)
        if asked["code"]:
            alerts = alerts.filter(Q(code=asked["code"]) | Q(gravest_code=asked["code"]))
        for name, field in (("host", "name"), ("volume", "label")):
            if text := asked[name]:
                alerts = alerts.filter(
                    Q(**{f"{name}__key": text}) | Q(**{f"{name}__{field}__icontains": text})
                )
        if text := asked["customer"]:
            named = Q(volume__customer__key=text) | Q(volume__customer__name__icontains=text)
            if row := by_id(Customer.objects.visible_to(user), text):
                named |= Q(volume__customer=row.pk)
            alerts = alerts.filter(named)
        return in_usual_order(alerts)


def in_usual_order(alerts: AlertQuerySet) -> AlertQuerySet:
    """Open before resolved, unacknowledged before others, then the gravest."""
    opened, same = Q(effects__opened_at__isnull=False), Q(effects__code=F("code"))
    numbered = alerts.with_names().annotate(
        sibling_count=Count("effects", filter=opened & same),
        effect_count=Count("effects", filter=opened & ~same),
    )
    graver = Case(When(resolved_at=None, then=F("rank")), default=Value(0))
    return numbered.order_by(PLACE, graver, F("resolved_at").desc(nulls_first=True), "-opened_at")


def marks_of(problems: Iterable[Problem]) -> dict[str, AlertMark]:
    """The open alerts of problems, by their fingerprints. One query, without problems none."""
    prints = {fingerprint_of(problem) for problem in problems}
    if not prints:
        return {}
    alerts = Alert.objects.open().filter(fingerprint__in=prints)
    own = ("acknowledged_at", "acknowledged_by__email", "muted_by")
    fields = ("fingerprint", "key", *own, *(f"cause__{name}" for name in own))
    named = alerts.select_related("acknowledged_by", "cause__acknowledged_by")
    return {each.fingerprint: _mark(each) for each in named.only(*fields)}


def _mark(alert: Alert) -> AlertMark:
    url = reverse("alert", args=[alert.key])
    # Acknowledging a cause covers its effects.
    for each in filter(None, (alert, alert.cause)):
        if each.acknowledged_at is not None:
            return AlertMark(url, "acknowledged", str(each.acknowledged_by or ""))
    return AlertMark(url, alert.get_muted_by_display() if alert.muted_by else "")
