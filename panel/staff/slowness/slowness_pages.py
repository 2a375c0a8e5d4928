"""Why is it slow? One card for a volume, or for a disk: what, since when, which disk, who uses it,
what changed before, and what helps. A page of its own, and a part of the volume's page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs import slow_reasons
from jobs.models import Job
from jobs.slow_reasons import Slowness
from jobs.timeline import TimelinePlace
from panel.charts.time_range import typed_time
from panel.deliveries.alerts.alert_texts import name_of
from panel.staff.history.timeline_rows import TimelineRow, rows_of
from panel.staff.job_requests import row_of
from storage.access import Person, Right, may, staff_view
from storage.analysis.disk_condition import LOOKED_AT
from storage.analysis.slowness import staff_words
from storage.analysis.slowness.explanation import Help, SlowExplanation, SlowRemedy, SpeedState
from storage.analysis.slowness.staff_words import RemedyWords
from storage.formatting import size
from storage.models import Host, Volume
from storage.problems.all_kinds import kind_of
from storage.stored_inventory import inventory_of
from storage.volumes.snapshot import VolumeSnapshot

OWN_WORDS: Final = ("read_time", "disk_load")
"""What alerts that are judged by these say, the card says itself."""
TITLES: Final = {
    SpeedState.SLOW: "Why is {} slow?",
    SpeedState.OVER: "Why was {} slow?",
    SpeedState.WELL: "Is {} slow?",
    SpeedState.UNKNOWN: "Is {} slow?",
}
NOT_ALLOWED: Final = "Requires the operator role."


@dataclass(frozen=True, slots=True)
class CardUser:
    """A volume that uses the disk, with its part of the disk's I/O time, 0 to 1."""

    volume: Volume
    share: float
    is_own: bool
    is_estimate: bool


@dataclass(frozen=True, slots=True)
class CardRemedy:
    """What helps: a button that asks for a preview with these `fields`, or a link to where it is
    chosen and previewed; `refusal` is why this person may not."""

    words: RemedyWords
    url: str = ""
    button: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class SlowCard:
    """What the card shows. `title` asks for it, and `heading` for the volume or disk by name; `url`
    is the card's own page. `all_url` shows every user of every disk at that time, `history_url`
    the time line; `cache_jobs` do, or did, what would be advised."""

    heading: str
    title: str
    url: str
    explanation: SlowExplanation
    what: str
    disk_title: str
    disk: str
    why: str
    users: tuple[CardUser, ...]
    lacks: tuple[str, ...]
    remedies: tuple[CardRemedy, ...]
    closed: tuple[str, ...]
    no_remedy: str
    cache_jobs: tuple[Job, ...]
    changes: tuple[TimelineRow, ...]
    verdicts: tuple[tuple[str, str, str], ...]
    all_url: str
    history_url: str

    @property
    def adds_cache(self) -> bool:
        """Whether it has the button that adds a cache to the volume itself: the volume's page then
        needs no other one."""
        own = self.explanation.volume_id
        remedies = self.explanation.remedies
        return any(each.help == Help.ADD_CACHE and each.volume_id == own for each in remedies)


def slow_card(row: VolumeSnapshot, user: Person, now: datetime) -> SlowCard | None:
    """For the page of a volume; None where it is not slow now."""
    return _of_volume(row, user, now) if row.is_slow else None


@staff_view()
@require_safe
def volume_slowness(request: HttpRequest, key: str) -> HttpResponse:
    """The card of a volume, at the moment `at`, or now."""
    row = row_of(request, key)
    context = {
        "card": _of_volume(row, request.user, asked_moment(request)),
        "place": row.volume.label,
        "place_url": reverse("volume", args=[row.volume.key]),
    }
    return render(request, "staff/volumes/slowness.html", context)


@staff_view()
@require_safe
def busy_disk(request: HttpRequest, key: str, name: str) -> HttpResponse:
    """The card of a disk or array of a host."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    reasons = slow_reasons.reasons_of_disk(host, name, request.user, asked_moment(request))
    if reasons is None:
        raise Http404
    context = {
        "card": _card(reasons, request.user, name, reverse("host-busy", args=[key, name])),
        "place": host.name,
        "place_url": reverse("host", args=[key]),
    }
    return render(request, "staff/volumes/slowness.html", context)


def asked_moment(request: HttpRequest) -> datetime:
    """The time of the address, else now; nothing is known of a time to come."""
    at, now = typed_time(request.GET.get("at", "")), timezone.now()
    return min(at, now) if at is not None else now


def _of_volume(row: VolumeSnapshot, user: Person, at: datetime) -> SlowCard:
    reasons = slow_reasons.reasons_of_volume(row, user, at)
    url = reverse("volume-slowness", args=[row.volume.key])
    return _card(reasons, user, row.volume.label, url)


def _card(reasons: Slowness, user: Person, subject: str, url: str) -> SlowCard:
    explanation, figures = reasons.explanation, reasons.figures
    labels = {key: row.volume.label for key, row in figures.rows.items()}
    own, host = figures.rows.get(explanation.volume_id or 0), figures.host
    place = TimelinePlace(volume=own.volume) if own is not None else TimelinePlace(host=host)
    waiting = staff_words.who_waits(figures.waiting, labels)
    title = TITLES[explanation.timing.state]
    history = reverse("host-history", args=[host.key]) if host is not None else ""
    if own is not None:
        history = reverse("volume-history", args=[own.volume.key])
    return SlowCard(
        heading=title.format(subject),
        title=title.format("it"),
        url=url,
        explanation=explanation,
        what=f"{staff_words.what_is(explanation)} {waiting}".strip(),
        disk_title=staff_words.disk_title(explanation),
        disk=staff_words.disk_name(explanation),
        why=staff_words.why_is(explanation, labels),
        users=tuple(
            CardUser(
                figures.rows[each.volume_id].volume,
                each.share,
                each.volume_id == explanation.volume_id,
                each.is_estimate,
            )
            for each in explanation.top
            if each.volume_id in figures.rows
        ),
        lacks=staff_words.lacks(explanation),
        remedies=tuple(_remedies(reasons, labels, user)),
        closed=staff_words.closed_caches(explanation, labels),
        no_remedy="" if reasons.cache_jobs else staff_words.no_remedy(explanation),
        cache_jobs=reasons.cache_jobs,
        changes=tuple(rows_of(reasons.changes, place)),
        verdicts=tuple(
            (
                name_of(each.code),
                "" if kind_of(each.code).judged_by in OWN_WORDS else each.message,
                reverse("alert", args=[each.key]),
            )
            for each in reasons.verdicts
        ),
        all_url=_all_url(host, explanation),
        history_url=history,
    )


def _all_url(host: Host | None, explanation: SlowExplanation) -> str:
    if host is None or explanation.disk is None:
        return ""
    timing = explanation.timing
    span = timing.looked_at - timing.looked_from if timing.looked_from is not None else LOOKED_AT
    at = timing.looked_at.astimezone(UTC)
    asked = urlencode({"at": f"{at:%Y-%m-%dT%H:%M:%SZ}", "for": round(span.total_seconds())})
    return f"{reverse('host', args=[host.key])}?{asked}#who"


def _remedies(reasons: Slowness, labels: Mapping[int, str], user: Person) -> Iterator[CardRemedy]:
    explanation, rows = reasons.explanation, reasons.figures.rows
    for each in explanation.remedies:
        row = rows.get(each.volume_id or 0)
        lv, iops = (row.lv, row.iops) if row is not None else (None, None)
        words = staff_words.remedy_words(explanation, each, labels, lv, iops)
        if each.help == Help.LIMIT:
            yield CardRemedy(words)
        elif each.help == Help.REPLACE_DISK:
            yield _replacement(reasons, words, user)
        elif row is not None:
            yield _of_cache(each, row.volume, words, user)


def _of_cache(remedy: SlowRemedy, volume: Volume, words: RemedyWords, user: Person) -> CardRemedy:
    route = "cache-form" if remedy.help == Help.ADD_CACHE else "cache-replace"
    return CardRemedy(
        words,
        reverse(route, args=[volume.key]),
        f"Preview a cache of {size(remedy.size_bytes)}",
        (("size_bytes", str(remedy.size_bytes)), ("mode", remedy.mode)),
        "" if may(user, Right.OPERATE) else NOT_ALLOWED,
    )


def _replacement(reasons: Slowness, words: RemedyWords, user: Person) -> CardRemedy:
    """The form that is previewed for an array; any other disk is replaced by hand."""
    host, disk = reasons.figures.host, reasons.explanation.disk
    if host is None or disk is None:
        return CardRemedy(words)
    facts = inventory_of(host)
    arrays = {each.name for each in facts.arrays} if facts is not None else set()
    if disk.name in arrays and may(user, Right.ADMINISTER):
        url = reverse("host-member", args=[host.key, disk.name])
        return CardRemedy(words, url, "Choose a disk and preview")
    return CardRemedy(words, f"{reverse('host-disks', args=[host.key])}#disks", "Show disks")
