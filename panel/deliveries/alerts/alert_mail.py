"""Subject and text of alert messages, for e-mail and chat. Pure but for the addresses of pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.conf import settings
from django.urls import reverse

from jobs.models import Alert, AlertEvent, AlertEventKind
from panel.deliveries.alerts.alert_texts import consequence_of, event_words, name_of
from panel.deliveries.alerts.why_slow import why_slow_path
from storage.formatting import counted, seconds

SUBJECT_LENGTH: Final = 150
SHOWN_EVENTS: Final = 30
SHOWN_THINGS: Final = 10
RISK: Final = ("data at risk", "error", "warning")
BACK: Final = AlertEventKind.RESOLVED


@dataclass(frozen=True, slots=True)
class AlertLetter:
    """The subject is one line; `rank` the gravest of the unresolved alerts, 3 where all are
    resolved; `url` the page that it links to."""

    subject: str
    text: str
    rank: int
    url: str


@dataclass(frozen=True, slots=True)
class AlertStory:
    """An alert with its events, oldest first, and the names of what it affects."""

    alert: Alert
    events: tuple[AlertEvent, ...]
    things: tuple[str, ...] = ()
    thing_count: int = 0

    @property
    def last(self) -> AlertEvent:
        return self.events[-1]

    @property
    def is_over(self) -> bool:
        return self.last.kind == BACK


def letter_of(stories: Sequence[AlertStory]) -> AlertLetter:
    """One message about all of them, the gravest first."""
    ordered = sorted(stories, key=lambda each: (each.is_over, each.last.rank, each.alert.pk))
    first = ordered[0]
    rank = min((each.last.rank for each in ordered if not each.is_over), default=3)
    url = _page("alert", first.alert.key) if len(ordered) == 1 else _page("alerts")
    parts = [_part(each) for each in ordered[:SHOWN_EVENTS]]
    if len(ordered) > SHOWN_EVENTS:
        parts.append(f"And {len(ordered) - SHOWN_EVENTS} more: {_page('alerts')}")
    return AlertLetter(
        _plain(_subject(ordered, rank)), _plain("\n\n".join(parts)) + _foot(), rank, url
    )


def _plain(text: str) -> str:
    """Without the backticks that mark commands on pages."""
    return text.replace("`", "")


def _subject(ordered: Sequence[AlertStory], rank: int) -> str:
    over = sum(each.is_over for each in ordered)
    risk = f" ({RISK[rank]})" if rank == 0 else ""
    first = ordered[0]
    if len(ordered) == 1:
        what = f"{first.alert.place}: {_short(first)}"
        risk = "" if first.is_over else risk
        return _line(f"[Tiercel] {_prefix(first.last)}{what}{risk}")
    hosts = list(dict.fromkeys(each.alert.place for each in ordered))
    named = ", ".join(hosts[:3]) + (f" and {len(hosts) - 3} more" if len(hosts) > 3 else "")
    ended = "over" if any(each.is_over and each.last.text for each in ordered) else "resolved"
    if over == len(ordered):
        return _line(f"[Tiercel] {counted(over, 'alert')} {ended}: {named}")
    also = f", {over} {ended}" if over else ""
    return _line(f"[Tiercel] {counted(len(ordered) - over, 'alert')}{also}: {named}{risk}")


def _prefix(event: AlertEvent) -> str:
    kind = AlertEventKind(event.kind)
    return "" if kind == AlertEventKind.OPENED else f"{event_words(event)}: "


def _short(story: AlertStory) -> str:
    message = story.alert.shown_message.split(". ")[0].rstrip(".")
    return message if 0 < len(message) <= 90 else name_of(story.alert.title_code)


def _part(story: AlertStory) -> str:
    alert = story.alert
    lines = [f"{alert.place}: {name_of(alert.title_code)}"]
    if story.is_over:
        how = story.last.text or f"Resolved after {_lasted(alert)}."
        lines.append(f"{how} The problem was: {alert.shown_message}")
        return "\n".join((*lines, _page("alert", alert.key)))
    event = story.last
    if event.kind not in (AlertEventKind.OPENED, AlertEventKind.WORSENED) and event.text:
        lines.append(event.text)
    lines.append(f"{alert.message}{_more(alert)}")
    if consequence := consequence_of(alert.code):
        lines.append(consequence)
    if story.thing_count:
        rest = story.thing_count - len(story.things)
        also = f" and {rest} more" if rest > 0 else ""
        lines.append(f"Also affected: {', '.join(story.things)}{also}.")
    if alert.correction:
        lines.append(f"What to do: {alert.correction}")
    if why := _why_slow(alert):
        lines.append(f"Why is it slow: {why}")
    if alert.since is not None:
        lines.append(f"Since {alert.since:%Y-%m-%d %H:%M} UTC.")
    return "\n".join((*lines, _page("alert", alert.key)))


def _why_slow(alert: Alert) -> str:
    """The address of the card that explains the slowness; "" where there is none."""
    volume, host = alert.volume, alert.host
    keys = volume.key if volume is not None else "", host.key if host is not None else ""
    path = why_slow_path(alert.code, *keys, alert.subject)
    return f"{settings.TIERCEL_PUBLIC_URL}{path}" if path else ""


def _more(alert: Alert) -> str:
    return f" ({alert.count} in total)" if alert.count > 1 else ""


def _lasted(alert: Alert) -> str:
    if alert.resolved_at is None or alert.opened_at is None:
        return "a while"
    return seconds((alert.resolved_at - alert.opened_at).total_seconds())


def digest_of(open_now: Sequence[Alert], resolved: int, at: datetime) -> AlertLetter:
    """The daily summary: open alerts, the gravest first, and how many were resolved."""
    rank = min((each.rank for each in open_now), default=3)
    lines = [f"{counted(len(open_now), 'alert')} open, {resolved} resolved in the last 24 hours."]
    for each in open_now[:SHOWN_EVENTS]:
        message = _plain(each.message)
        lines.append(f"- {each.place}: {name_of(each.title_code)}. {message}{_handled(each)}")
    if len(open_now) > SHOWN_EVENTS:
        lines.append(f"And {len(open_now) - SHOWN_EVENTS} more.")
    risk = f" ({RISK[0]})" if rank == 0 else ""
    subject = f"[Tiercel] {at:%Y-%m-%d}: {counted(len(open_now), 'alert')} open{risk}"
    url = _page("alerts")
    return AlertLetter(_line(subject), "\n".join((*lines, "", url)) + _foot(), rank, url)


def _handled(alert: Alert) -> str:
    """Why the alert sends no messages now; "" where it does."""
    if alert.acknowledged_at is not None:
        return f" (acknowledged: {alert.acknowledged_reason})"
    return f" ({alert.get_muted_by_display()})" if alert.muted_by else ""


def test_letter(name: str) -> AlertLetter:
    """A test message."""
    text = f"Test message from {settings.TIERCEL_PUBLIC_URL} to “{name}”. Delivery works."
    return AlertLetter("[Tiercel] Test message", text + _foot(), 3, _page("alerts"))


def things_of(effects: Iterable[Alert]) -> tuple[tuple[str, ...], int]:
    """The first names of what an alert affects, and their number."""
    names = [
        each.volume.label if each.volume is not None else each.subject or each.place
        for each in effects
    ]
    unique = list(dict.fromkeys(_line(name) for name in names))
    return tuple(unique[:SHOWN_THINGS]), len(unique)


def _foot() -> str:
    return "\n\n-- \nTiercel, " + settings.TIERCEL_PUBLIC_URL + "\n"


def _page(name: str, *args: str) -> str:
    return f"{settings.TIERCEL_PUBLIC_URL}{reverse(name, args=args)}"


def _line(text: str) -> str:
    """On one line: a host may send anything, and a mail header must not break."""
    line = " ".join(text.split())
    return line if len(line) <= SUBJECT_LENGTH else f"{line[: SUBJECT_LENGTH - 1]}…"
