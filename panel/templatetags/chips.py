"""Icons and state chips: one tag for each, so that a state looks the same on every page.

A built-in library of the templates: none of them loads it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from html import escape
from pathlib import Path
from typing import Literal

from django import template
from django.conf import settings
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from jobs.models import Job, State, Step, StepState
from panel.charts.sparkline import Spark
from panel.models import User
from storage.models import Host
from storage.models.host import HostState
from storage.templatetags.units import stamp

register = template.Library()

Tone = Literal["ok", "warning", "error", "busy", "quiet"]

SYMBOL = re.compile(r'<symbol id="(\w+)"[^>]*>(.*?)</symbol>', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Chip:
    """The state of one thing: always an icon and a text; the tone alone says nothing."""

    tone: Tone
    icon: str
    text: str


JOB_CHIPS: dict[str, tuple[Tone, str]] = {
    State.SUCCEEDED: ("ok", "ok"),
    State.FAILED: ("error", "error"),
    State.NEEDS_ATTENTION: ("warning", "warning"),
    State.CANCELLED: ("quiet", "cut"),
    State.RUNNING: ("busy", "run"),
}
STEP_CHIPS: dict[str, Chip] = {
    StepState.DONE: Chip("ok", "ok", "done"),
    StepState.FAILED: Chip("error", "error", "failed"),
    StepState.RUNNING: Chip("busy", "run", "running"),
}
PLANNED = Chip("quiet", "wait", "planned")
NO_ROLLBACK = Chip("warning", "warning", "rollback not possible from here")
HOST_CHIPS: dict[str, Chip] = {
    HostState.QUARANTINED: Chip("error", "error", "quarantined"),
    HostState.UNVERIFIED: Chip("warning", "key", "fingerprint to accept"),
    HostState.PENDING: Chip("quiet", "wait", "waiting for the host"),
}
ACTIVE = Chip("ok", "ok", "active")


@cache
def _symbols() -> dict[str, SafeString]:
    """The drawings of `parts/icons.svg` by name."""
    sprite = Path(settings.BASE_DIR, "templates/parts/icons.svg").read_text()
    one_line = re.sub(r"\s*\n\s*", "", sprite)
    return {name: mark_safe(lines) for name, lines in SYMBOL.findall(one_line)}  # noqa: S308 (our own file)


@register.simple_tag(name="icon")
def drawing(name: str) -> SafeString:
    """A drawing of `parts/icons.svg`, in the colour of the text beside it."""
    return format_html(
        '<svg class="icon" width="24" height="24" viewBox="0 0 24 24" fill="none" '
        'stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" '
        'aria-hidden="true" focusable="false">{}</svg>',
        _symbols()[name],
    )


@register.simple_tag
def chip(
    shown: Chip | None = None, *, tone: str = "", icon: str = "", text: str = ""
) -> SafeString:
    """Anything that has tone, icon and text; or the three of them."""
    if shown is not None:
        tone, icon, text = shown.tone, shown.icon, shown.text
    return format_html(
        '<span class="chip chip-{}">{}<span class="text">{}</span></span>',
        tone,
        drawing(icon),
        text,
    )


@register.simple_tag
def job_chip(job: Job) -> SafeString:
    """The state of a job, or of a preview."""
    return chip(chip_of_job(job))


def chip_of_job(job: Job) -> Chip:
    """The same as data."""
    if job.dry_run and job.state == State.SUCCEEDED:
        return Chip("ok", "ok", "ready")
    tone, name = JOB_CHIPS.get(job.state, ("busy", "wait"))
    return Chip(tone, name, job.get_state_display())


@register.simple_tag
def step_chips(step: Step, job: Job, cost: object) -> SafeString:
    """The state of a step, and whether rollback ends with it. `cost` is the `Cost` of a preview; a
    job has none."""
    shown = STEP_CHIPS.get(step.state)
    chips = [shown] if shown is not None else [] if job.dry_run else [PLANNED]
    if getattr(cost, "final_step", None) == step.n or (step.makes_irrevocable and not job.dry_run):
        chips.append(NO_ROLLBACK)
    return format_html_join(" ", "{}", ((chip(each),) for each in chips))


@register.simple_tag
def host_chip(host: Host, silent: object, problems: int | None = 0) -> SafeString:
    """Whether the host is in use and answers; "" where the chip of its problems says enough."""
    shown = HOST_CHIPS.get(host.state)
    if shown is None and host.error:
        shown = Chip("error", "error", "unreachable")
    if shown is None and silent:
        shown = Chip("error", "error", "silent")
    if shown is None and problems:
        return SafeString()
    return chip(shown or ACTIVE)


@register.simple_tag
def maintenance_chip(host: Host) -> SafeString:
    """That jobs on the host wait, and until when; nothing where they do not."""
    if not host.in_maintenance:
        return SafeString()
    until = host.maintenance_until
    when = f" until {moment(until)}" if until is not None else ""
    return chip(Chip("warning", "wait", f"in maintenance{when}"))


@register.simple_tag
def zone() -> str:
    """The time zone in which the page tells times, such as Europe/Berlin."""
    return timezone.get_current_timezone_name()


def moment(at: datetime) -> str:
    """A time to come, with its day where that is another one."""
    is_today = timezone.localdate(at) == timezone.localdate()
    return stamp(at, "%H:%M %Z") if is_today else stamp(at)


@register.simple_tag
def person_chip(person: User) -> SafeString:
    """Whether the account may sign in."""
    return chip(ACTIVE if person.is_active else Chip("quiet", "cut", "deactivated"))


MARK = '<line class="spark-mark" x1="{0}" x2="{0}" y1="0" y2="{1}"/>'


@register.simple_tag
def spark(drawn: Spark, label: str, *, untitled: bool = False) -> SafeString:
    """The shape of one figure: `label` and the range for screen readers, the range as a tooltip
    unless `untitled`. A tag, for a list draws one in each row: its numbers have nothing to
    escape."""
    text = escape(drawn.text)
    title = "" if untitled else f"<title>{text}</title>"
    mark = MARK.format(drawn.mark, drawn.height) if drawn.mark else ""
    lines = "".join([f'<polyline points="{points}"/>' for points in drawn.lines])
    dots = "".join([f'<circle cx="{x}" cy="{y}" r="1.25"/>' for x, y in drawn.dots])
    return SafeString(
        f'<svg class="spark" width="{drawn.width}" height="{drawn.height}"'
        f' viewBox="0 0 {drawn.width} {drawn.height}" role="img"'
        f' aria-label="{escape(label)}: {text}">{title}{mark}{lines}{dots}</svg>'
    )
