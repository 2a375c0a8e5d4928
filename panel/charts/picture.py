"""What a page of charts shows, by its URL: a subject in a time, and what is laid over it.

`over` is "previous" (the time right before), "volume" (another one that the person may see, named
by `with`), or "job": the time after the job `job` ended, over the same length of time before it
began. Faded lines show what is laid over, each point at that of the same number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext

from jobs.models import OVER, Job
from panel.charts.subject import ChartSubject, of_volume
from panel.charts.time_range import RANGES, Span, span_of
from storage.formatting import seconds
from storage.metrics.series import Series
from storage.models import Volume

MOST_CHOICES: Final = 50
MOST_JOBS: Final = 20


class OverlayKind(StrEnum):
    """What is laid over."""

    PREVIOUS = "previous"
    VOLUME = "volume"
    JOB = "job"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """`words` is the legend, a sentence; `short` labels single figures. `names` are the series that
    the person gets of it."""

    kind: OverlayKind
    span: Span
    words: str
    short: str
    measure: Callable[[Span], Series]
    names: frozenset[str]

    def to_json(self, measured: Series, summary: str) -> dict[str, Any]:
        """As the script reads it."""
        shown = [name for name in measured.units if name in self.names]
        answer = measured.to_json(shown)
        return {
            "kind": self.kind,
            "words": self.words,
            "short": self.short,
            "summary": summary,
            "t0": answer["t0"],
            "series": answer["series"],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """`trouble` says why a requested overlay is missing, "" where none is."""

    subject: ChartSubject
    span: Span
    overlay: Overlay | None = None
    trouble: str = ""


def picture_of(subject: ChartSubject, request: HttpRequest) -> Picture:
    """What the request asks for, as far as its person may see it."""
    now = timezone.now()
    span = span_of(
        request,
        now,
        known_since=subject.known_since,
        least_seconds=subject.least_seconds,
        fine=subject.fine,
        every=subject.every,
    )
    kind = request.GET.get("over", "")
    if kind == OverlayKind.PREVIOUS:
        return Picture(subject=subject, span=span, overlay=_previous(subject, span))
    if kind == OverlayKind.VOLUME and subject.volume is not None:
        return _beside(subject, span, request)
    if kind == OverlayKind.JOB and subject.volume is not None:
        return _around(subject, span, request)
    return Picture(subject=subject, span=span)


def _previous(subject: ChartSubject, span: Span) -> Overlay:
    before = _moved(span, span.start - span.end)
    words = gettext("Faded: previous period.")
    return Overlay(
        kind=OverlayKind.PREVIOUS,
        span=before,
        words=words,
        short=gettext("before"),
        measure=subject.measure,
        names=frozenset(subject.names),
    )


def _beside(subject: ChartSubject, span: Span, request: HttpRequest) -> Picture:
    text = request.GET.get("with", "").strip()
    other = _named(Volume.objects.visible_to(request.user), text)
    if other is None or other == subject.volume:
        trouble = gettext("There is no other volume “{name}”.").format(name=text[:100])
        return Picture(subject=subject, span=span, trouble=trouble)
    laid = of_volume(other, request.user, plain=subject.plain)
    name = str(other)
    overlay = Overlay(
        kind=OverlayKind.VOLUME,
        span=span,
        words=gettext("Faded lines: {name}, at the same time.").format(name=name),
        short=name,
        measure=laid.measure,
        names=frozenset(laid.names),
    )
    return Picture(subject=subject, span=span, overlay=overlay)


def _around(subject: ChartSubject, span: Span, request: HttpRequest) -> Picture:
    job = jobs_of(subject, request.user).filter(key=request.GET.get("job", "")[:64]).first()
    if job is None or job.ended_at is None:
        trouble = gettext("This change does not exist or has not ended yet.")
        return Picture(subject=subject, span=span, trouble=trouble)
    length = RANGES[span.key][1]
    if not span.is_part:
        after = subject.part(span.key, job.ended_at, job.ended_at + length)
        start = _border(job.ended_at, after.step, up=True)
        span = replace(after, start=start, end=start + (after.end - after.start))
    began = _border(job.started_at or job.created_at, span.step, up=False)
    offset = began - length - _border(job.ended_at, span.step, up=True)
    words = gettext("After {change}; faded: before.")
    overlay = Overlay(
        kind=OverlayKind.JOB,
        span=_moved(span, timedelta(seconds=offset.total_seconds() // span.step * span.step)),
        words=words.format(change=subject.words_of(job)),
        short=gettext("before"),
        measure=subject.measure,
        names=frozenset(subject.names),
    )
    return Picture(subject=subject, span=span, overlay=overlay)


def jobs_of(subject: ChartSubject, user: Any) -> QuerySet[Job]:
    """The changes of the subject's volume that the person may see and that have ended."""
    jobs = Job.objects.visible_to(user).filter(volume=subject.volume, dry_run=False)
    ended = jobs.filter(state__in=OVER, ended_at__isnull=False)
    return ended.select_related("cache_plan").order_by("-ended_at")


def overlay_choices(subject: ChartSubject, request: HttpRequest) -> Mapping[str, Any]:
    """What the form offers: names of volumes, and changes with their words and when they ended."""
    if subject.volume is None:
        return {"volumes": (), "jobs": ()}
    others = Volume.objects.visible_to(request.user).in_service().exclude(pk=subject.volume.pk)
    near = others.filter(customer=subject.volume.customer_id).order_by("label", "pk")
    return {
        "volumes": [str(each) for each in near[:MOST_CHOICES]],
        "jobs": [
            {"key": job.key, "words": subject.words_of(job), "at": job.ended_at}
            for job in jobs_of(subject, request.user)[:MOST_JOBS]
        ],
    }


def _named(volumes: QuerySet[Volume], text: str) -> Volume | None:
    """By its key, or by a name that no other one has."""
    if not text:
        return None
    by_key = volumes.filter(key=text[:64]).first()
    if by_key is not None:
        return by_key
    namesakes = volumes.filter(label__iexact=text[:200])[:2]
    return namesakes[0] if len(namesakes) == 1 else None


def _moved(span: Span, by: timedelta) -> Span:
    label = seconds((span.end - span.start).total_seconds())
    return replace(span, label=label, start=span.start + by, end=span.end + by, is_part=True)


def _border(at: datetime, step: int, *, up: bool) -> datetime:
    whole = at.timestamp() // step * step
    is_past = up and whole < at.timestamp()
    return datetime.fromtimestamp(whole + (step if is_past else 0), tz=UTC)
