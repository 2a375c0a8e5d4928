"""Names that a field suggests while one types (`panel.lists.named_choice`)."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.html import format_html_join
from django.views.decorators.http import require_safe

from panel.lists.named_choice import suggested
from storage.access import staff_view
from storage.models import Customer, Host


@staff_view()
@require_safe
def suggest(request: HttpRequest, kind: str) -> HttpResponse:
    """Options for the field's list: of customers or hosts whose name has the text, which is the
    one parameter, whatever the field is called; for `host-list` after its last comma."""
    text = str(next(iter(request.GET.values()), "")).replace("\0", "")[:1000]
    before = ""
    if kind == "host-list":
        before, comma, text = text.rpartition(",")
        before, text = f"{before}{comma} ".lstrip(), text.strip()
    text = text[:100]
    if kind == "customers":
        names = suggested(Customer.objects.visible_to(request.user), text)
    elif kind in ("hosts", "host-list"):
        names = suggested(Host.objects.visible_to(request.user).without_inventory(), text)
    else:
        raise Http404
    return HttpResponse(
        format_html_join("", '<option value="{}">', ((before + name,) for name in names))
    )
