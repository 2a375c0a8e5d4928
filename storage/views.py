"""Pages that show hosts and volumes. They read; what changes a host is offered by URL name."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from storage.access import Right, may, staff_view
from storage.advice import outlook
from storage.attention import is_silent, problems_of
from storage.caches import free_bytes
from storage.drift import drift_of
from storage.facts import HostFacts
from storage.forms import CacheForm, ModeForm
from storage.growth_form import growth_offers
from storage.history import edits
from storage.life_form import life_offers
from storage.models import Host, Placement, Volume
from storage.plan import Refused
from storage.reading import reading_of
from storage.replacement_form import ResizeForm
from storage.rows import VolumeRow, facts_of, rows_of
from storage.series_views import chart_context
from storage.stack import stack_of
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
def hosts(request: HttpRequest) -> HttpResponse:
    """Every host with its state, the age of its last answer and what is wrong with it."""
    now = timezone.now()
    found = Host.objects.visible_to(request.user).without_inventory()
    page = Paginator(found, PAGE_ROWS).get_page(request.GET.get("page"))
    drifts = drift_of(page)
    rows = [
        {
            "host": host,
            "problems": problems_of(host, now, drifts.get(host.pk)),
            "silent": is_silent(host, now),
        }
        for host in page
    ]
    return render(request, "storage/hosts.html", {"page": page, "rows": rows})


@staff_view()
@require_safe
def host(request: HttpRequest, key: str) -> HttpResponse:
    """One host: trust, problems, policy, and everything the last inventory said."""
    found = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    now, facts = timezone.now(), facts_of(found)
    volumes = Volume.objects.visible_to(request.user).placed_on(found).select_related("customer")
    placed = rows_of(volumes)
    in_service = [row for row in placed if row.volume.retired_at is None]
    rows = {row.lv.uuid: row for row in placed if row.lv is not None}
    missing = Placement.objects.filter(volume__in=volumes, until=None, missing_since__isnull=False)
    context = {
        "host": found,
        "facts": facts,
        "silent": is_silent(found, now),
        "problems": problems_of(found, now, drift_of([found]).get(found.pk)),
        "stack": stack_of(facts) if facts is not None else None,
        "missing": missing.select_related("volume"),
        "keys": {uuid: row.volume.key for uuid, row in rows.items()},
        "outlook": outlook(found, in_service, now) if facts is not None else None,
        "reading": reading_of(request.GET.get("asked", ""), found.facts_at, now),
        "groups": _groups(facts) if facts is not None else [],
        "lvs": [(lv, rows.get(lv.uuid)) for lv in facts.public_lvs()] if facts is not None else [],
        "untagged_count": sum(row.is_taggable for row in placed),
        "volume_count": len(volumes),
        "edits": edits(found),
    }
    return render(request, "storage/host.html", context)


def _groups(facts: HostFacts) -> list[dict[str, object]]:
    return [
        {
            "vg": vg,
            "fast_free_bytes": free_bytes(facts, vg.uuid, "fast"),
            "slow_free_bytes": free_bytes(facts, vg.uuid, "slow"),
            "pvs": [pv for pv in facts.pvs if pv.vg_uuid == vg.uuid],
        }
        for vg in facts.vgs
    ]


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
