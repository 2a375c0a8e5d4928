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
from storage.analysis.slowness.explanation import Cause, Help, Lack, SpeedState


class SlowUserShape(Shape):
    """A volume that uses the disk."""

    volume = Ref("The volume.")
    share = Float("Its share of the disk's I/O time, 0 to 1.")
    is_estimate = Boolean("True: derived from the waiting time of the guest.")


class SlowRemedyShape(Shape):
    """A remedy. To request a cache, use `PUT /volumes/{key}/wish?dry_run=true`."""

    help = Choice("What to do.", list(Help))
    volume = Ref("The volume to change; null: the remedy is for the disk.", null=True)
    size_bytes = Integer("Size of the cache; null: not a cache.", null=True)
    mode = Text("Mode of the cache; empty: not a cache.")
    text = Text("The same as sentences for people.")


class SlowChangeShape(Shape):
    """Something that happened in the day before it began."""

    at = DateTime("When it happened.")
    kind = Text("What it is: alert, change (of the host), check (of a disk), event or job.")
    text = Text("The same in a few words.")


class SlownessShape(Shape):
    """Why a volume is slow. Shares are of the I/O time of the disk that it waits for."""

    state = Choice("Whether its reads are slow; `over`: they were slow earlier.", list(SpeedState))
    read_ms = Float(
        "Average read time of the slow time, else of the last minutes; null: no reads.", null=True
    )
    limit_ms = Integer("Average read time in milliseconds from which reads are slow.")
    since = DateTime("When the last slow time began; null: there was none.", null=True)
    until = DateTime("When it ended; null: it continues, or there was none.", null=True)
    is_older = Boolean("True: it began before `since`, outside of the examined time.")
    looked_at = DateTime("End of the period of these figures.")
    disk = Text("Name of the disk or array on its host; null: unknown.", null=True, staff=True)
    is_fast = Boolean("Whether that is an SSD; null: unknown.", null=True)
    busy = Float("Share of the time in which that disk had I/O in flight.", null=True)
    own_share = Float("The volume's share of it, 0 to 1.")
    others_share = Float("The share of all other volumes together, 0 to 1.")
    outside_share = Float("The share that no volume explains; null: not counted.", null=True)
    cause = Choice("Why it waits.", list(Cause))
    lacks = Texts(f"What is missing for an explanation: {', '.join(Lack)}.")
    what = Text("How slow the volume is, as a sentence for people.")
    why = Text("Why it waits, as a sentence for people.")
    users = SlowUserShape("The volumes that use the disk most.", many=True, staff=True)
    remedies = SlowRemedyShape("Remedies, best first.", many=True, staff=True)
    no_remedy = Text("What does not help, and why; empty: nothing known.", staff=True)
    changes = SlowChangeShape(
        "Changes before it: those of top users of the disk first, then the newest.", many=True
    )


AT: Final = Moment("at", "The moment to explain. Default: now.")


class VolumeSlowness(VolumeResource):
    """Why a volume is slow."""

    @operation("volume_slowness", "Explain why a volume is slow", SlownessShape, parameters=(AT,))
    def get(self, request: Request, key: str) -> Response:
        """Covers the six hours up to `at`. Customers see no disk and no other volume."""
        row, now = self.row(key), timezone.now()
        at = min(AT.of(request) or now, now)
        if is_staff(self.user):
            reasons = slow_reasons.reasons_of_volume(row, self.user, at)
            return self.shown(_facts(reasons) | _for_staff(reasons))
        own = slow_reasons.reasons_of_own_volume(row, self.user, at)
        explanation = own.explanation
        words = {
            "changes": _changes(own, lambda entry: change_words(entry.record)),
            "what": customer_words.what_is(explanation),
            "why": customer_words.why_is(explanation),
        }
        return self.shown(_facts(own) | words)


def _facts(reasons: Slowness) -> dict[str, Any]:
    explanation = reasons.explanation
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


def _changes(reasons: Slowness, words: Callable[[TimelineEntry], str]) -> list[dict[str, Any]]:
    return [{"at": each.at, "kind": each.source, "text": words(each)} for each in reasons.changes]


def _for_staff(reasons: Slowness) -> dict[str, Any]:
    explanation, rows = reasons.explanation, reasons.figures.rows
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
    open_end = [f"Job: {each.work}." for each in reasons.cache_jobs]
    open_end = open_end or [staff_words.no_remedy(explanation)]
    return {
        "disk": explanation.disk.name if explanation.disk is not None else None,
        "changes": _changes(reasons, summary_of),
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
        "no_remedy": " ".join((*staff_words.closed_caches(explanation, labels), *open_end)).strip(),
    }
