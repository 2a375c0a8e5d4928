"""The output of a job: its live tail, earlier lines on demand, and everything as plain text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from jobs.models import Job, Line
from storage.access import staff_view

PAGE_LINES = 500
"""How many lines a page starts with, and gets at once: the end matters, and a flush of hours
writes thousands."""
CONTEXT_LINES = 20
"""What is shown before a line that an address names."""
CHUNK_LINES = 1000
NO_CONTENT = 204


@dataclass(frozen=True, slots=True)
class LogWindow:
    """Lines in their order. `before` and `after` are the counters to ask on from; `before` is 0
    where nothing is earlier."""

    lines: list[Line]
    before: int
    after: int

    @property
    def context(self) -> dict[str, object]:
        """As the template of lines has it; `earlier` is where a page of earlier ones begins."""
        return {
            "lines": self.lines,
            "before": self.before,
            "left_out": self.before - 1,
            "earlier": max(1, self.before - PAGE_LINES),
            "after": self.after,
        }


def window(job: Job, line: int = 0) -> LogWindow:
    """The tail, or from a little before `line` on where that is earlier."""
    last = job.line_set.order_by("-n").values_list("n", flat=True).first() or 0
    start = max(0, last - PAGE_LINES)
    if line:
        start = min(start, max(0, line - 1 - CONTEXT_LINES))
    shown = list(job.lines_after(start).filter(n__lte=last))
    return LogWindow(shown, start + 1 if start else 0, last)


@staff_view()
@require_safe
def lines(request: HttpRequest, key: str) -> HttpResponse:
    """Output after line `after` with the element that asks for more (none when the job is over),
    or what comes `before` a line. 204 while there is nothing new."""
    # The state first: a job that is over by now writes no line after these.
    job = get_object_or_404(Job.objects.visible_to(request.user), key=key)
    if before := counter(request, "before"):
        context = {"job": job, **_earlier(job, before).context}
        return render(request, "staff/jobs/_lines.html", context)
    start = counter(request, "after")
    shown = list(job.lines_after(start)[:PAGE_LINES])
    if not shown and not job.is_over:
        return HttpResponse(status=NO_CONTENT)
    more = len(shown) == PAGE_LINES or not job.is_over
    tail = LogWindow(shown, 0, shown[-1].n if shown else start)
    return render(request, "staff/jobs/_lines.html", {"job": job, "more": more, **tail.context})


def _earlier(job: Job, before: int) -> LogWindow:
    start = max(0, before - 1 - PAGE_LINES)
    return LogWindow(
        list(job.lines_after(start).filter(n__lt=before)), start + 1 if start else 0, 0
    )


@staff_view()
@require_safe
def log(request: HttpRequest, key: str) -> HttpResponseBase:
    """Every line, and nothing else, as text/plain."""
    job = get_object_or_404(Job.objects.visible_to(request.user), key=key)
    return StreamingHttpResponse(
        _texts(job),
        content_type="text/plain; charset=utf-8",
        headers={"Content-Disposition": f'inline; filename="job-{job.key}.txt"'},
    )


def _texts(job: Job) -> Iterator[str]:
    texts = job.lines_after(0).values_list("text", flat=True)
    for text in texts.iterator(CHUNK_LINES):
        yield f"{text}\n"


def counter(request: HttpRequest, name: str) -> int:
    """A line's counter in the address; 0 for none, and for what is none."""
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
