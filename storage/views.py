"""Pages that show volumes. They read; what changes a host is offered by URL name."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from storage.access import Right, may, staff_view
from storage.forms import CacheForm, ModeForm
from storage.growth_form import growth_offers
from storage.history import edits
from storage.life_form import life_offers
from storage.models import Volume
from storage.plan import Refused
from storage.replacement_form import ResizeForm
from storage.rows import VolumeRow, rows_of
from storage.series_views import chart_context
from storage.tuned_form import TunedForm

PAGE_ROWS = 50
READ_ONLY = Refused(
    "not_allowed",
    "Your role lets you look, not change.",
    "An admin of this panel can give you the role operator.",
)
LOOK_ONLY = {"refusal": READ_ONLY, "barred": READ_ONLY, "barred_life": READ_ONLY, "form": None}


@staff_view()
@require_safe
def volumes(request: HttpRequest) -> HttpResponse:
    """Volumes with their latest figures; `q` searches names (of volumes, guests, customers, hosts)
    and external ids; `gone=1` shows those too that were destroyed."""
    text = request.GET.get("q", "").strip()
    found = Volume.objects.visible_to(request.user).select_related("customer")
    with_gone = request.GET.get("gone") == "1"
    if not with_gone:
        found = found.existing()
    if text:
        found = found.filter(
            Q(label__icontains=text)
            | Q(guest__icontains=text)
            | Q(external_id=text)
            | Q(customer__name__icontains=text)
            | Q(placement__lv_name__icontains=text, placement__until=None)
            | Q(placement__host__name__icontains=text, placement__until=None)
        ).distinct()
    page = Paginator(found, PAGE_ROWS).get_page(request.GET.get("page"))
    rows = rows_of(page.object_list)
    context = {"page": page, "rows": rows, "q": text, "with_gone": with_gone}
    return render(request, "storage/volumes.html", context)


@staff_view()
@require_safe
def volume(request: HttpRequest, key: str) -> HttpResponse:
    """One volume: figures, users, its cache and what can be done, with the reason where not."""
    row = _row(request, key)
    context = {"row": row, "volume": row.volume, "host": row.host, "edits": edits(row.volume)}
    context |= chart_context(row.volume, request)
    context |= offers(row) if may(request.user, Right.OPERATE) else LOOK_ONLY
    context["growth"] = growth_offers(row)
    context["life"] = life_offers(row, timezone.now())
    return render(request, "storage/volume.html", context)


def offers(row: VolumeRow) -> dict[str, object]:
    """The forms a volume's page offers (a new cache; or another mode, and another size), or why
    there is none. `barred` is why nothing at all may be changed; want of SSD room bars only a new
    cache and another size."""
    refusal = barred = row.refusal(row.wish)
    form: ModeForm | None = None
    resize: ResizeForm | None = None
    if refusal is None:
        form = TunedForm(row) if row.cache is not None else CacheForm(row)
        resize = ResizeForm(row) if row.cache is not None else None
    if isinstance(form, CacheForm) and not form.has_room:
        refusal, form = form.no_room(), None
    return {
        "refusal": refusal,
        "barred": barred,
        "form": form,
        "resize": resize,
    }


@staff_view()
@require_safe
def figures(request: HttpRequest, key: str) -> HttpResponse:
    """The latest figures alone: the element of the volume's page that renews itself."""
    row = _row(request, key)
    return render(request, "storage/_figures.html", {"row": row})


def _row(request: HttpRequest, key: str) -> VolumeRow:
    found = Volume.objects.visible_to(request.user).select_related("customer")
    return rows_of([get_object_or_404(found, key=key)])[0]
