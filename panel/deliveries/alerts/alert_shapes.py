"""The request that carries a message to a webhook, ntfy, Slack or Matrix. Pure."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal
from urllib.parse import quote, urlsplit, urlunsplit

from panel.deliveries.alerts.alert_mail import AlertLetter, AlertStory
from panel.deliveries.signature import sign
from panel.models import RouteKind

NTFY_PRIORITIES: Final = (5, 4, 3, 2)
NTFY_TAGS: Final = ("rotating_light", "exclamation", "warning", "white_check_mark")
SLACK_LENGTH: Final = 3500
NTFY_LENGTH: Final = 3500
"""Longer ones become an attachment there."""
MATRIX_LENGTH: Final = 20_000


@dataclass(frozen=True, slots=True)
class AlertRequest:
    """The HTTP request to an address."""

    url: str
    body: bytes
    headers: dict[str, str]
    method: Literal["POST", "PUT"] = "POST"


@dataclass(frozen=True, slots=True)
class AlertTarget:
    """Where a message goes: the kind of address, the address, and the secret that signs or
    authorises, "" for none."""

    kind: RouteKind
    url: str
    secret: str


def request_of(
    target: AlertTarget,
    name: str,
    purpose: str,
    letter: AlertLetter,
    stories: Sequence[AlertStory],
    at: datetime,
) -> AlertRequest:
    """`name` identifies the message and is the same for each attempt."""
    if target.kind == RouteKind.NTFY:
        return _ntfy(target, letter)
    if target.kind == RouteKind.SLACK:
        return _json(target.url, {"text": _slack_text(letter)})
    if target.kind == RouteKind.MATRIX:
        return _matrix(target, name, letter)
    body = json.dumps(webhook_body(purpose, letter, stories, at), separators=(",", ":")).encode()
    signed = sign(f"alert_{name}", body, [target.secret], at)
    return AlertRequest(target.url, body, {"Content-Type": "application/json", **signed})


def webhook_body(
    purpose: str, letter: AlertLetter, stories: Sequence[AlertStory], at: datetime
) -> dict[str, Any]:
    """By Standard Webhooks: `type`, `timestamp`, `data`. The type is `alert.opened` and so on where
    all events are of one kind, else `alert.changed`."""
    kinds = {each.last.kind for each in stories}
    kind = purpose if purpose != "events" else kinds.pop() if len(kinds) == 1 else "changed"
    return {
        "type": f"alert.{kind}",
        "timestamp": _iso(at),
        "data": {
            "summary": letter.subject.removeprefix("[Tiercel] "),
            "url": letter.url,
            "alerts": [_alert_json(each) for each in stories],
        },
    }


def _alert_json(story: AlertStory) -> dict[str, Any]:
    alert = story.alert
    return {
        "key": alert.key,
        "event": story.last.kind,
        "at": _iso(story.last.at),
        "code": alert.code,
        "severity": alert.severity,
        "data_at_risk": story.last.rank == 0,
        "host": {"key": alert.host.key, "name": alert.host.name} if alert.host else None,
        "volume": {"key": alert.volume.key, "label": alert.volume.label} if alert.volume else None,
        "subject": alert.subject,
        "message": alert.message,
        "correction": alert.correction,
        "opened_at": _iso(alert.opened_at),
        "resolved_at": _iso(alert.resolved_at),
        "follow_count": story.thing_count,
    }


def _iso(at: datetime | None) -> str | None:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if at is not None else None


def _ntfy(target: AlertTarget, letter: AlertLetter) -> AlertRequest:
    """To the server of a topic's address, as JSON: a header cannot hold every character."""
    parts = urlsplit(target.url)
    folder, _, topic = parts.path.rstrip("/").rpartition("/")
    base = urlunsplit((parts.scheme, parts.netloc, f"{folder}/", "", ""))
    message = {
        "topic": topic,
        "title": letter.subject,
        "message": letter.text[:NTFY_LENGTH],
        "priority": NTFY_PRIORITIES[letter.rank],
        "tags": [NTFY_TAGS[letter.rank]],
        "click": letter.url,
    }
    return _json(base, message, target.secret)


def _slack_text(letter: AlertLetter) -> str:
    """Slack reads &, < and > as markup."""
    subject, text = (
        part.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        for part in (letter.subject, letter.text[:SLACK_LENGTH])
    )
    return f"*{subject.replace('*', '')}*\n{text}"


def _matrix(target: AlertTarget, name: str, letter: AlertLetter) -> AlertRequest:
    """The client API: an event of the room with the address `…/send/m.room.message`; the message's
    name is the transaction id, so that a second attempt is no second event."""
    text = letter.text[:MATRIX_LENGTH]
    lines = html.escape(text).replace("\n", "<br>")
    content = {
        "msgtype": "m.text",
        "body": f"{letter.subject}\n\n{text}",
        "format": "org.matrix.custom.html",
        "formatted_body": f"<strong>{html.escape(letter.subject)}</strong><br><br>{lines}",
    }
    made = _json(f"{target.url.rstrip('/')}/{quote(name)}", content, target.secret)
    return AlertRequest(made.url, made.body, made.headers, "PUT")


def _json(url: str, content: dict[str, Any], token: str = "") -> AlertRequest:
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    return AlertRequest(url, json.dumps(content).encode(), headers)
