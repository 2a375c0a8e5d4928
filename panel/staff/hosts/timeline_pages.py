"""The history of a host: its time line, what a restart into another kernel changed, which a person
may accept, and the faults of its kernel, which an administrator may accept."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from jobs.timeline import TimelinePlace
from panel.lists.listing import ListDefinition, csv_of, wants_csv
from panel.staff.history.timeline_rows import timeline_context
from panel.staff.hosts.pages import find_host, frame
from panel.staff.job_requests import actor_of, show_refusal
from storage.access import Right, staff_view
from storage.analysis import restart_verdicts
from storage.analysis.restart_comparison import compare_restart
from storage.analysis.restart_verdicts import standing_loss
from storage.database_clock import database_now
from storage.health import accepted_faults
from storage.health.accepted_faults import REASON_LIMIT, faults_with_decisions
from storage.inventory.facts import KernelIdentity
from storage.models import Host, HostChange, HostChangeKind
from storage.name_validators import demand_plain
from storage.planner import Refused
from storage.planner.kernel_faults import BY_CODE
from storage.stored_inventory import inventory_of

TIMELINE: Final = ListDefinition(
    "host-history",
    (),
    (
        ("at", lambda each: each.at.isoformat()),
        ("kind", lambda each: each.kind),
        ("subject", lambda each: each.subject),
        ("before", lambda each: each.before),
        ("after", lambda each: each.after),
        ("count", lambda each: each.count),
        ("effect", lambda each: each.effect),
    ),
)


class AcceptFaultForm(forms.Form):
    """The code of the fault is typed, which guards against accepting one by mistake."""

    reason = forms.CharField(
        max_length=REASON_LIMIT,
        label="Reason",
        validators=[demand_plain],
        error_messages={"required": "Enter a reason. It is kept in the host's history."},
    )
    confirm_code = forms.CharField(max_length=64, label="Code of the fault")

    def __init__(self, code: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.code, self.auto_id = code, f"{code}_%s"
        self.fields["confirm_code"].help_text = f"Type {code} to accept it on this host."

    def clean_confirm_code(self) -> str:
        typed: str = self.cleaned_data["confirm_code"]
        if typed != self.code:
            raise forms.ValidationError("The code does not match.", code="wrong_code")
        return typed


class AcceptLossForm(forms.Form):
    """Why a host may be slower since a restart into another kernel."""

    reason = forms.CharField(
        max_length=restart_verdicts.REASON_LIMIT,
        label="Reason",
        validators=[demand_plain],
        error_messages={"required": "Enter a reason. It is kept in the host's history."},
    )


@staff_view()
@require_safe
def history(request: HttpRequest, key: str) -> HttpResponse:
    """`compare` is a restart into another kernel, by its number; without it, an open loss is
    shown."""
    shown = find_host(request, key)
    if wants_csv(request):
        return csv_of(request, TIMELINE, _rows(request, shown))
    return _page(request, shown, _asked(request, shown))


def _rows(request: HttpRequest, host: Host) -> Any:
    return HostChange.objects.visible_to(request.user).filter(host=host).order_by("-at", "-pk")


def _page(
    request: HttpRequest,
    host: Host,
    compared: HostChange | None = None,
    wrong: AcceptFaultForm | AcceptLossForm | None = None,
) -> HttpResponse:
    facts = inventory_of(host)
    faults = () if facts is None else faults_with_decisions(host, facts)
    kernel = KernelIdentity() if facts is None else facts.kernel
    context = {
        **frame(request, host, "host-history"),
        "facts": facts,
        "versions": (
            ("Release", kernel.release or host.hello.get("kernel")),
            ("Build", kernel.signature or kernel.version),
            ("LVM", host.hello.get("lvm2")),
            ("bcache-tools", host.hello.get("bcache_tools")),
        ),
        "faults": [(each, _form_of(each.present.fault.code, wrong)) for each in faults],
        **timeline_context(request, TimelinePlace(host=host), TIMELINE),
        "compared": None
        if compared is None
        else (compared, compare_restart(compared, timezone.now())),
        "loss_form": wrong if isinstance(wrong, AcceptLossForm) else AcceptLossForm(),
    }
    status = HTTPStatus.OK if wrong is None else HTTPStatus.UNPROCESSABLE_ENTITY
    return render(request, "staff/hosts/host_history.html", context, status=status)


def _form_of(code: str, wrong: forms.Form | None) -> AcceptFaultForm:
    if isinstance(wrong, AcceptFaultForm) and wrong.code == code:
        return wrong
    return AcceptFaultForm(code)


def _asked(request: HttpRequest, host: Host) -> HostChange | None:
    asked = request.GET.get("compare", "")
    return _restart(request, host, asked) if asked else standing_loss(host)


def _restart(request: HttpRequest, host: Host, asked: str) -> HostChange:
    kernels = HostChange.objects.visible_to(request.user).filter(
        host=host, kind=HostChangeKind.KERNEL
    )
    number = int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < 19 else 0
    return get_object_or_404(kernels.select_related("host"), pk=number)


def _named(request: HttpRequest) -> str:
    """The code of the fault that a form is about; "" for none that is known."""
    code = request.POST.get("fault", "")
    return code if code in BY_CODE else ""


@staff_view(Right.ADMINISTER)
@require_POST
def accept_fault(request: HttpRequest, key: str) -> HttpResponse:
    """Accept the `fault`: new plans of this host may rely on what it breaks."""
    host, fault = find_host(request, key), _named(request)
    form = AcceptFaultForm(fault, request.POST)
    if not form.is_valid():
        return _page(request, host, wrong=form)
    who, reason = str(actor_of(request)), form.cleaned_data["reason"]
    try:
        accepted_faults.accept_fault(host, fault, who, reason, database_now())
    except Refused as refused:
        return show_refusal(request, refused)
    messages.success(request, f"The fault {fault} is accepted on {host.name}.")
    return redirect("host-history", key)


@staff_view(Right.ADMINISTER)
@require_POST
def revoke_fault(request: HttpRequest, key: str) -> HttpResponse:
    """The `fault` refuses plans again."""
    host, fault = find_host(request, key), _named(request)
    try:
        accepted_faults.revoke_acceptance(host, fault)
    except Refused as refused:
        return show_refusal(request, refused)
    messages.success(request, f"The fault {fault} is no longer accepted on {host.name}.")
    return redirect("host-history", key)


@staff_view(Right.OPERATE)
@require_POST
def accept_loss(request: HttpRequest, key: str, event: str) -> HttpResponse:
    """Accept that the host is slower since this restart; it is no longer a problem."""
    host = find_host(request, key)
    change = _restart(request, host, event)
    form = AcceptLossForm(request.POST)
    if not form.is_valid():
        return _page(request, host, change, form)
    who, reason = str(actor_of(request)), form.cleaned_data["reason"]
    try:
        restart_verdicts.accept_loss(change, who, reason, database_now())
    except Refused as refused:
        return show_refusal(request, refused)
    messages.success(request, f"The loss with kernel {change.after} is accepted on {host.name}.")
    return redirect("host-history", key)


@staff_view(Right.OPERATE)
@require_POST
def revoke_loss(request: HttpRequest, key: str, event: str) -> HttpResponse:
    """The loss is a problem again."""
    host = find_host(request, key)
    change = _restart(request, host, event)
    try:
        restart_verdicts.revoke_loss_acceptance(change)
    except Refused as refused:
        return show_refusal(request, refused)
    messages.success(request, f"The loss on {host.name} is a problem again.")
    return redirect("host-history", key)
