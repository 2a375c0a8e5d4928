"""Charts of a volume, a host or the fleet: the context of their page, and the answer with the
series that they fetch. The page's URL contains the time range (`panel.charts.time_range`)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from panel.charts import definitions as chart_definitions
from panel.charts.lacking import as_begun, lack_words
from panel.charts.picture import Overlay, OverlayKind, Picture, overlay_choices, picture_of
from panel.charts.subject import ChartSubject, of_fleet, of_host, of_volume
from panel.charts.time_range import LONGEST, Span, button_text, ranges
from panel.lists.listing import csv_file
from storage.formatting import seconds, unbroken
from storage.metrics.samples.aggregate import listed
from storage.metrics.series import Series
from storage.models import Host, Volume

TABLE_ROWS: Final = 20
OVER_NAMES: Final = ("over", "with", "job")
"""The parameters of what is laid over."""
LENGTH: Final = timedelta(hours=1)
"""Of the time around the nearest figures, where the shown one has none."""


def chart_context(
    volume: Volume, request: HttpRequest, *, plain: bool | None = None
) -> dict[str, object]:
    """The context of `parts/_charts.html`, for a volume that the person may see. `plain`: in the
    words of customers; the default for everyone but staff."""
    return context_of(of_volume(volume, request.user, plain=plain), request)


def host_chart_context(host: Host, request: HttpRequest) -> dict[str, object]:
    """The same for all volumes of a host together, for staff."""
    return context_of(of_host(host, request.GET.get("disk", "")), request)


def fleet_chart_context(request: HttpRequest) -> dict[str, object]:
    """The same for all hosts together, for staff."""
    return context_of(of_fleet(), request)


@dataclass(frozen=True, slots=True)
class Nearest:
    """The figures nearest to a time that has none: when they were taken, and the part of a URL
    that shows them. `is_before`: they are the last ones before that time."""

    at: datetime
    query: str
    is_before: bool

    def to_json(self) -> dict[str, object]:
        """As the script reads it."""
        return {"at": self.at.isoformat(), "query": self.query, "is_before": self.is_before}


def context_of(subject: ChartSubject, request: HttpRequest) -> dict[str, object]:
    """The context of `parts/_charts.html`."""
    now = timezone.now()
    picture = picture_of(subject, request)
    span, overlay = picture.span, picture.overlay
    measured = subject.added(span, subject.measure(span))
    nearest = _nearest(subject, measured, span, request.GET)
    laid = overlay.measure(overlay.span) if overlay is not None else None
    answer = _answer(picture, measured, laid, nearest)
    point_seconds = subject.point_seconds(span)
    is_table_wanted = "table" in request.GET
    if is_table_wanted:
        measured = subject.apart(measured)
    columns = (
        chart_definitions.columns(
            chart_definitions.labelled(
                chart_definitions.known_panels(subject.panels, measured), subject.labels(span)
            )
        )
        if is_table_wanted
        else []
    )
    return {
        "charts": {
            "ranges": [
                {
                    "key": key,
                    "label": button_text(key),
                    "query": _with(request.GET, range=key),
                    "is_shown": key == span.key and not span.is_part,
                }
                for key in ranges(subject.least_seconds, subject.fine)
            ],
            "span": span,
            "kept": _kept(request.GET, "from", "to"),
            "fixed_query": _with(request.GET, **span.ends),
            "plain": subject.plain,
            "series_url": subject.series_url,
            "marks_url": subject.marks_url,
            "who_url": subject.who_url,
            "disks": subject.disks,
            "disk": subject.disk,
            "csv_url": f"{subject.csv_url}?{_csv_query(request.GET, span)}",
            "panels": as_begun(subject.panels, measured, answer["labels"], laid),
            "columns": columns,
            "rows": chart_definitions.table(measured, columns, rows=TABLE_ROWS, now=now)
            if is_table_wanted
            else [],
            "latency_classes": chart_definitions.latency_classes(),
            "latency_rows": chart_definitions.latency_rows(measured, rows=TABLE_ROWS)
            if is_table_wanted and not subject.plain
            else [],
            "table_query": urlencode({**request.GET.dict(), "table": "1"}),
            "step_seconds": measured.step_seconds,
            "step_words": answer["step_words"],
            "summary": answer["summary"],
            "answer": _in_script(answer),
            "over": {
                "shown": overlay,
                "summary": answer["over"]["summary"] if overlay is not None else "",
                "trouble": picture.trouble,
                "kept": _kept(request.GET, *OVER_NAMES),
                "kept_without_time": _kept(request.GET, "from", "to", *OVER_NAMES),
                "none_query": _without(request.GET, *OVER_NAMES),
                "previous_query": _previous_query(request.GET),
                "of_volume": subject.volume is not None,
                **overlay_choices(subject, request),
                "with": request.GET.get("with", ""),
                "job": request.GET.get("job", ""),
            },
            "texts": chart_definitions.script_texts(plain=subject.plain),
            "is_empty": measured.is_empty,
            "has_cache": measured.has_cache,
            "is_retired": subject.is_retired,
            "nearest": nearest,
            "now": now,
            "refresh_seconds": min(point_seconds, 60),
            "longest_seconds": round(LONGEST.total_seconds()),
            "point_note": "" if subject.plain else _point_note(point_seconds),
            "first_point_seconds": 2 * point_seconds,
        }
    }


def _point_note(point_seconds: int) -> str:
    """What one point is of, for staff."""
    sooner = " A shorter period has data sooner." * (
        point_seconds > settings.TIERCEL_SAMPLE_SECONDS
    )
    return f"Each data point covers {seconds(point_seconds)}.{sooner}"


def series_answer(subject: ChartSubject, request: HttpRequest) -> HttpResponse:
    """What the charts fetch."""
    picture = picture_of(subject, request)
    measured = subject.added(picture.span, subject.measure(picture.span))
    if "apart" in request.GET:
        measured = subject.apart(measured)
    nearest = _nearest(subject, measured, picture.span, request.GET)
    laid = picture.overlay.measure(picture.overlay.span) if picture.overlay is not None else None
    answer = _answer(picture, measured, laid, nearest)
    return HttpResponse(msgspec.json.encode(answer), content_type="application/json")


def _answer(
    picture: Picture, measured: Series, laid: Series | None, nearest: Nearest | None
) -> dict[str, Any]:
    """What the script draws: part of the page at first, then refreshed from the URL of the
    series."""
    subject, span, overlay = picture.subject, picture.span, picture.overlay
    faint = measured.faint_json()
    labels = subject.labels(span)
    panels = as_begun(subject.panels, measured, labels, laid)
    answer: dict[str, Any] = {
        **measured.to_json([name for name in subject.names if name in measured.units]),
        "faint": {name: values for name, values in faint.items() if name in subject.names},
        "step_words": seconds(measured.step_seconds),
        "summary": _summary(subject, measured, span),
        "has_cache": measured.has_cache,
        "nearest": nearest.to_json() if nearest is not None else None,
        "labels": labels,
        "lacking": {panel.name: lack_words(panel.lack) for panel in panels if panel.lack},
        "over": None,
    }
    if not subject.plain:
        answer |= chart_definitions.inside_json(measured)
    if overlay is not None and laid is not None:
        answer["over"] = overlay.to_json(laid, _over_summary(subject, overlay, laid))
    return answer


def _in_script(answer: dict[str, Any]) -> SafeString:
    """As JSON within a `script` of the page, which only `<` can end. Faster than `json_script`, and
    without its spaces: a year has 10,000 figures."""
    return mark_safe(msgspec.json.encode(answer).decode().replace("<", "\\u003C"))  # noqa: S308


def _summary(subject: ChartSubject, measured: Series, span: Span) -> str:
    """In customers' words a part of the past is not named by its end in UTC: the axes have it in
    the browser's own time."""
    words = gettext("In this period") if subject.plain and span.is_part else span.words
    return unbroken(chart_definitions.summary(measured, words, of_many=subject.of_many))


def _over_summary(subject: ChartSubject, overlay: Overlay, laid: Series) -> str:
    """The same of what is laid over."""
    short = overlay.short[:1].upper() + overlay.short[1:]
    return unbroken(chart_definitions.summary(laid, short, of_many=subject.of_many))


def csv_answer(subject: ChartSubject, request: HttpRequest) -> HttpResponse:
    """One row a bucket, with its end in UTC; an empty cell is not known. `panel` names a single
    requested chart; an overlay follows, each figure beside that of the same number."""
    picture = picture_of(subject, request)
    span, overlay = picture.span, picture.overlay
    measured = subject.added(span, subject.measure(span))
    chart = request.GET.get("panel", "")
    names = _names_of(subject, chart) or subject.names
    if names is subject.names or _is_apart(subject, chart):
        measured = subject.apart(measured)
    labels = subject.labels(span)
    titles = [f"{labels.get(name, name)} ({measured.units[name]})" for name in names]
    columns = [listed(measured.columns[name]) for name in names]
    if overlay is not None:
        laid = overlay.measure(overlay.span)
        shared = [name for name in names if name in overlay.names and name in laid.units]
        titles += [f"{name}, {overlay.short} ({measured.units[name]})" for name in shared]
        columns += [listed(laid.columns[name]) for name in shared]
    lines = ([measured.at(n), *(column[n] for column in columns)] for n in range(measured.points))
    file_name = "-".join(
        (
            subject.name,
            *((chart,) if names is not subject.names else ()),
            f"{span.start:%Y%m%dT%H%M}",
            f"{span.end:%Y%m%dT%H%M}.csv",
        )
    )
    return csv_file(file_name, ["until (UTC)", *titles], lines)


def _names_of(subject: ChartSubject, chart: str) -> tuple[str, ...]:
    """The series of one chart, in the order of all; none of one that the subject lacks."""
    drawn = {line.name for panel in subject.panels if panel.name == chart for line in panel.lines}
    return tuple(name for name in subject.names if name in drawn)


def _is_apart(subject: ChartSubject, chart: str) -> bool:
    return any(panel.is_apart for panel in subject.panels if panel.name == chart)


def _csv_query(query: QueryDict, span: Span) -> str:
    over = {name: query[name] for name in OVER_NAMES if name in query}
    return f"{span.query}&{urlencode(over)}" if over else span.query


def _kept(query: QueryDict, *dropped: str) -> list[tuple[str, str]]:
    """The parameters of the page that a form must send along."""
    return [
        (name, value) for name, values in query.lists() if name not in dropped for value in values
    ]


def _without(query: QueryDict, *names: str) -> str:
    return urlencode(_kept(query, *names))


def _previous_query(query: QueryDict) -> str:
    return urlencode([*_kept(query, *OVER_NAMES), ("over", OverlayKind.PREVIOUS.value)])


def _nearest(
    subject: ChartSubject, measured: Series, span: Span, query: QueryDict
) -> Nearest | None:
    """None where there are figures in the span, or nowhere."""
    at = subject.nearest(span.start, span.end) if measured.is_empty else None
    if at is None:
        return None
    is_before = at <= span.start
    ends = (at - LENGTH, at) if is_before else (at, at + LENGTH)
    around = subject.part(span.key, *ends)
    return Nearest(at, _with(query, **around.ends), is_before)


def _with(query: QueryDict, **changed: str) -> str:
    """The page's parameters with others; a part that was zoomed into is left."""
    query = query.copy()
    for name in ("from", "to"):
        query.pop(name, None)
    for name, value in changed.items():
        query[name] = value
    return query.urlencode()
