"""An SSD that is added to a volume group: form, then preview."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from jobs.queue.add_ssd import ask
from jobs.requester import Requester
from panel.http.client_address import address_of
from storage.access import Right, staff_view
from storage.inventory.stored import inventory_of
from storage.models import Host
from storage.planner import Refused
from storage.volumes.add_ssd_form import PreparationForm

UNREAD = Refused(
    "not_read",
    "The host has not been read yet.",
    ("Refresh the host, and come back when its disks are known."),
)
UNPROCESSABLE = 422


@staff_view(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
def add_ssd(request: HttpRequest, key: str) -> HttpResponse:
    """Which one, to which group, and its serial number typed: nobody takes the wrong drive."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    facts = inventory_of(host)
    form = PreparationForm(facts, request.POST or None) if facts is not None else None
    refusal = form.refusal if form is not None else UNREAD
    if form is not None and refusal is None and request.method == "POST" and form.is_valid():
        actor = request.user if isinstance(request.user, AbstractBaseUser) else None
        try:
            if form.wanted is not None:
                requester = Requester(actor, address_of(request))
                return redirect("job", ask(host, form.wanted, requester, dry_run=True).key)
        except Refused as refused:
            refusal = refused
    context = {"host": host, "form": form, "refusal": refusal}
    code = UNPROCESSABLE if request.method == "POST" else 200
    return render(request, "staff/hosts/ssd.html", context, status=code)
