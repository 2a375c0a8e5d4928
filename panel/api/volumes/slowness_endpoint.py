"""Why a volume is slow: for staff with names, for its customer in shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import slow_reasons
from jobs.slow_reasons import Slowness
from jobs.timeline import TimelineEntry, summary_of
from panel.api.framework.api_operations import operation
from panel.api.framework.fields import Boolean, Choice, DateTime, Float, Integer, Text, Texts
from panel.api.framework.parameters import Moment
from panel.api.framework.refs import Ref
from panel.api.framework.shape import Shape
from panel.api.volumes.volume_resource import VolumeResource
from panel.charts.subject import change_words
from storage.access import is_staff
from storage.analysis.slowness import customer_words, staff_words
from storage.analysis.slowness.explanation import Cause, Help, Lack, SlowState


class SlowUserShape(Shape):
    """A volume that uses the disk."""

    volume = Ref("The volume.")
    share = Float("Its part of the disk's I/O time, 0 to 1.")
    is_estimate = Boolean("True: it follows from what the guest waited for.")


class SlowRemedyShape(Shape):
    """What helps. A cache is asked for by `PUT /volumes/{key}/wish?dry_run=true`."""

    help = Choice("What to do.", list(Help))
    volume = Ref("For which volume; null: it is about the disk.", null=True)
    size_bytes = Integer("Size of the cache; null: it is about no cache.", null=True)
    mode = Text("Mode of the cache; empty: it is about no cache.")
    text = Text("The same as sentences for people.")


class SlowChangeShape(Shape):
    """What happened in the day before it began."""

    at = DateTime("When it happened.")
    kind = Text("What it is: alert, change (of the host), check (of a disk), event or job.")
    text = Text("The same in a few words.")


class SlownessShape(Shape):
    """Why a volume is slow. Shares are of the I/O time of the disk that it waits for."""

    state = Choice("Whether its reads are slow; `over`: they were.", list(SlowState))
    read_ms = Float("Milliseconds of an average read; null: it reads nothing.", null=True)
    limit_ms = Integer("From so many milliseconds on a read is slow.")
    since = DateTime("When the last slow time began; null: there was none.", null=True)
    until = DateTime("When it ended; null: it lasts, or there was none.", null=True)
    is_older = Boolean("True: it began before `since`, and the figures of that are not looked at.")
    looked_at = DateTime("The end of the time that these figures are of.")
    disk = Text("Name of the disk or array on its host; null: not known.", null=True, staff=True)
    is_fast = Boolean("Whether that is an SSD; null: not known.", null=True)
    busy = Float("Share of the time in which that disk had I/O under way.", null=True)
    own_share = Float("What the volume has of it, 0 to 1.")
    others_share = Float("What all other volumes together have of it, 0 to 1.")
    outside_share = Float("What no volume explains; null: not counted.", null=True)
    cause = Choice("Why it waits.", list(Cause))
    lacks = Texts(f"What is missing for an explanation: {', '.join(Lack)}.")
    what = Text("How slow it is, as a sentence for people.")
    why = Text("Why it waits, as a sentence for people.")
    users = SlowUserShape("The volumes that use the disk most.", many=True, staff=True)
    remedies = SlowRemedyShape("What helps, the best first.", many=True, staff=True)
    no_remedy = Text("What does not help, and why; empty: nothing is known not to.", staff=True)
    changes = SlowChangeShape("What changed before, newest first.", many=True)


AT: Final = Moment("at", "The moment to explain. Default: now.")


class VolumeSlowness(VolumeResource):
    """Why a volume is slow."""

    @operation("volume_slowness", "Explain why a volume is slow", SlownessShape, parameters=(AT,))
    def get(self, request: Request, key: str) -> Response:
        """The last six hours up to `at` are looked at. Customers see no disk and no other
        volume."""
        row, now = self.row(key), timezone.now()
        at = min(AT.of(request) or now, now)
        if is_staff(self.user):
            found = slow_reasons.why_volume(row, self.user, at)
            return self.shown(_facts(found) | _for_staff(found))
        own = slow_reasons.of_own_volume(row, self.user, at)
        explanation = own.explanation
        words = {
            "changes": _changes(own, lambda entry: change_words(entry.record)),
            "what": customer_words.what_is(explanation),
            "why": customer_words.why_is(explanation),
        }
        return self.shown(_facts(own) | words)


def _facts(found: Slowness) -> dict[str, Any]:
    explanation = found.explanation
    timing, speed, disk = explanation.timing, explanation.speed, explanation.disk
    return {
        "state": timing.state,
        "read_ms": speed.read_ms if speed is not None else None,
        "limit_ms": speed.limit_ms if speed is not None else 0,
        "since": timing.since,
        "until": timing.until,
        "is_older": timing.is_older,
        "looked_at": timing.looked_at,
        "is_fast": disk.is_fast if disk is not None else None,
        "busy": disk.busy if disk is not None else None,
        "own_share": explanation.own_share,
        "others_share": explanation.others_share,
        "outside_share": explanation.outside_share,
        "cause": explanation.cause,
        "lacks": list(explanation.lacks),
    }


def _changes(found: Slowness, words: Callable[[TimelineEntry], str]) -> list[dict[str, Any]]:
    return [{"at": each.at, "kind": each.source, "text": words(each)} for each in found.changes]


def _for_staff(found: Slowness) -> dict[str, Any]:
    explanation, rows = found.explanation, found.figures.rows
    labels = {key: row.volume.label for key, row in rows.items()}
    remedies = []
    for each in explanation.remedies:
        row = rows.get(each.volume_id or 0)
        lv, iops = (row.lv, row.iops) if row is not None else (None, None)
        words = staff_words.remedy_words(explanation, each, labels, lv, iops)
        remedies.append(
            {
                "help": each.help,
                "volume": row.volume if row is not None else None,
                "size_bytes": each.size_bytes,
                "mode": each.mode,
                "text": " ".join((f"{words.title}.", words.reason, *words.commands)),
            }
        )
    return {
        "disk": explanation.disk.name if explanation.disk is not None else None,
        "changes": _changes(found, summary_of),
        "what": staff_words.what_is(explanation),
        "why": staff_words.why_is(explanation, labels),
        "users": [
            {
                "volume": rows[each.volume_id].volume,
                "share": each.share,
                "is_estimate": each.is_estimate,
            }
            for each in explanation.top
            if each.volume_id in rows
        ],
        "remedies": remedies,
        "no_remedy": " ".join(
            (*staff_words.closed_caches(explanation, labels), staff_words.no_remedy(explanation))
        ).strip(),
    }
