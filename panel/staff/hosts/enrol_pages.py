"""Adding a host: the form, the enrolment command, and the host's progress."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from jobs.hosts import enrolment
from panel.deliveries.alerts.alert_routing import hosts_without_recipient
from panel.staff.hosts.storage_stack import stack_of
from storage.access import Right, is_proven, staff_view
from storage.health.host_problems import HealthFinding, reported_problems
from storage.inventory.device_tree import fast_disks
from storage.inventory.facts import HostFacts
from storage.models import Host
from storage.models.host import HostState
from storage.name_validators import demand_name
from storage.planner.technologies.lookup import cache_of
from storage.stored_inventory import inventory_of

Progress = Literal["done", "now", "later", "trouble"]


@staff_view(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
def new_host(request: HttpRequest) -> HttpResponse:
    """Name and address, which the page's own address may bring; then on to the line that enrols the
    host."""
    form = HostForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        host, _ = enrolment.begin_enrolment(**form.cleaned_data)
        return redirect("host-enrol", host.key)
    code = HTTPStatus.UNPROCESSABLE_ENTITY if request.method == "POST" else 200
    return render(request, "staff/hosts/host_new.html", {"form": form}, status=code)


@staff_view(Right.ADMINISTER)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def enrol_host(request: HttpRequest, key: str) -> HttpResponse:
    """GET: the line to paste (after a fresh proof: it makes a host one of ours) and how far the
    host has come; the page refreshes until all is known. POST: a new command, also to upgrade a
    host."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    if request.method == "POST":
        enrolment.begin_enrolment(host.name, host.address)
        return redirect("host-enrol", host.key)
    token = enrolment.waiting_token(host)
    public_url: str = settings.TIERCEL_PUBLIC_URL
    context = {
        "host": host,
        "arrival": arrival(host, has_line=token is not None),
        "line": enrolment.line(token, public_url) if token and is_proven(request) else "",
        "is_line_hidden": token is not None and not is_proven(request),
        "is_plain_http": public_url.startswith("http:"),
        "failure": HealthFinding(
            "", "error", host.error.get("message", ""), host.error.get("correction", "")
        ),
        "preflight": reported_problems(host),
        "has_no_recipient": any(each.host == host for each in hosts_without_recipient()),
        **_found(inventory_of(host)),
    }
    return render(request, "staff/hosts/host_enrol.html", context)


def _found(facts: HostFacts | None) -> dict[str, object]:
    """What an inventory comes to, in numbers."""
    if facts is None:
        return {}
    volumes = facts.public_lvs()
    return {
        "facts": facts,
        "stack": stack_of(facts),
        "ssd_count": len(fast_disks(facts)),
        "volume_count": len(volumes),
        "cached_count": sum(cache_of(facts, lv) is not None for lv in volumes),
        "used_count": sum(bool(lv.users) for lv in volumes),
    }


class HostForm(forms.Form):
    """Where a new host is reached. A name in use is refused, unless its host never enrolled."""

    name = forms.CharField(
        validators=[demand_name],
        max_length=64,
        help_text="Name shown in the panel: a-z, 0-9, dots and dashes, for example node7.",
    )
    address = forms.CharField(
        max_length=255,
        help_text="Host name or IP address of the host's SSH server, as seen from the panel.",
    )
    port = forms.IntegerField(
        required=False,
        label="SSH port",
        help_text="Leave empty to use 22 or the port that the host reports.",
    )
    account = forms.CharField(
        required=False,
        max_length=32,
        help_text=(
            "System account that the enrolment command creates on the host. Leave empty for "
            "tiercel."
        ),
    )

    def clean(self) -> dict[str, Any]:
        """Each objection at its field."""
        data = self.cleaned_data
        data["account"] = data.get("account") or None
        whole = {"name": "unknown", "address": "unknown", "port": None, **data}
        for field, refused in enrolment.objections(**whole):
            self.add_error(field, f"{refused.message} {refused.correction}")
        named = Host.objects.filter(name=data.get("name", ""))
        enrolled = named.exclude(state__in=(HostState.PENDING, HostState.REMOVED))
        if enrolled.exists():
            self.add_error(
                "name",
                "A host with this name is already enrolled. Open its page to create a new "
                "enrolment command.",
            )
        return data


@dataclass(frozen=True, slots=True)
class Arrival:
    """`line`: the host ran the command. `trust`: a person accepted its key. `answer`: it answered
    over SSH and was checked. `inventory`: its disks and volumes are known."""

    line: Progress
    trust: Progress
    answer: Progress
    inventory: Progress

    @property
    def is_over(self) -> bool:
        """True once no further step completes automatically."""
        return {self.line, self.trust, self.answer, self.inventory} == {"done"}


def arrival(host: Host, *, has_line: bool) -> Arrival:
    """`has_line`: a line waits to be pasted, for a first time or to upgrade what is there."""
    is_new = host.state == HostState.PENDING
    line: Progress = "now" if has_line else "trouble" if is_new else "done"
    trust: Progress = "done"
    if is_new:
        trust = "later"
    elif host.state == HostState.UNVERIFIED:
        trust = "now"
    elif host.state == HostState.QUARANTINED:
        trust = "trouble"
    is_active = host.state == HostState.ACTIVE
    answer = _later(is_active, host.hello_at is not None, bool(host.error))
    inventory = _later(answer == "done", host.facts_at is not None, bool(host.error))
    return Arrival(line, trust, answer, inventory)


def _later(is_due: bool, is_done: bool, has_failed: bool) -> Progress:
    if not is_due:
        return "later"
    if is_done:
        return "done"
    return "trouble" if has_failed else "now"
