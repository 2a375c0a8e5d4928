"""An explanation in the words of staff, with the names of volumes. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.text import get_text_list

from storage.analysis.slowness.explanation import (
    CacheOffer,
    Cause,
    Help,
    Lack,
    SlowExplanation,
    SlowRemedy,
    SpeedState,
)
from storage.formatting import ms, percent, seconds, size
from storage.health.slowness import NAMED, SLOW_MINUTES, WELL_AFTER, is_saturated, limit_words
from storage.inventory.facts import LogicalVolume
from storage.templatetags.units import stamp

Labels = Mapping[int, str]
"""What volumes are called, by primary key."""
LIMITED_TO: Final = 2
"""A guest is limited to this part of what it does now: one in two."""
LOOK: Final = "look whether the host answers and the volume is active."
LACKS: Final[Mapping[Lack, str]] = {
    Lack.SAMPLES: f"There are no figures of that time: {LOOK}",
    Lack.READS: "It reads too little to say how long a read takes.",
    Lack.INVENTORY: "The host has sent no inventory yet, so it is not known which disk it lies on.",
    Lack.DISK: "No disk below it has figures of that time, so it is not known what it waited for.",
    Lack.BUSY: "The host does not count how busy this disk is. Shares are of what volumes did.",
}
NO_REMEDY: Final[Mapping[Cause, str]] = {
    Cause.UNKNOWN: "Without a reason no action is advised.",
    Cause.OUTSIDE: "No change of a volume helps. It is over when the check, rebuild or move is.",
}


def what_is(explanation: SlowExplanation) -> str:
    """What is slow, and how slow it is."""
    state, speed = explanation.timing.state, explanation.speed
    if speed is None:
        return _what_disk_does(explanation)
    taken, span = f"{ms(speed.read_ms)} on average", seconds(speed.over.total_seconds())
    limit = f"{speed.limit_ms} ms is slow"
    if state == SpeedState.UNKNOWN:
        now = "How fast it is now is not known."
        if speed.read_ms is None:
            return now
        return f"{now} By its last figures, for {span}, a read took {taken} ({limit})."
    if speed.read_ms is None:
        return "Nothing was read."
    if explanation.may_become_slow:
        return f"For {span}, a read has taken {taken} ({limit} once it lasts {SLOW_MINUTES} min)."
    if state == SpeedState.WELL:
        return f"Its reads are not slow: a read took {taken} over the last {span} ({limit})."
    limit = limit_words(speed.limit_ms, speed.read_ms)
    if state == SpeedState.OVER:
        return f"Its reads are no longer slow. For {span}, a read took {taken} ({limit})."
    if explanation.timing.is_ebbing:
        well = f"Reads have been faster since {stamp(explanation.timing.looked_at, '%H:%M %Z')}"
        lasts = f"it counts as slow until that lasts {seconds(WELL_AFTER.total_seconds())}"
        return f"For {span}, a read took {taken} ({limit}). {well}: {lasts}."
    return f"For {span}, a read has taken {taken} ({limit})."


def lacks(explanation: SlowExplanation) -> tuple[str, ...]:
    """What is missing, a sentence for each."""
    last = explanation.timing.looked_at
    since = explanation.timing.looked_from is not None
    return tuple(
        f"There are no figures since {stamp(last, '%H:%M %Z')}: {LOOK}"
        if since and each == Lack.SAMPLES
        else LACKS[each]
        for each in explanation.lacks
    )


def _what_disk_does(explanation: SlowExplanation) -> str:
    disk = explanation.disk
    if disk is None or explanation.timing.state == SpeedState.UNKNOWN:
        return "How busy it is now is not known."
    queue = f"{disk.in_flight:.1f} I/Os are under way at a time."
    if not explanation.is_slow:
        return f"It is not overloaded: {queue}"
    is_full = is_saturated(disk.busy, disk.in_flight)
    return f"It has more to do than it can: {queue}" if is_full else queue


def who_waits(waiting: Sequence[int], labels: Labels) -> str:
    """That these volumes are slow because of the disk; "" for none."""
    named = [labels.get(each, "A volume") for each in waiting[:NAMED]]
    if more := len(waiting) - len(named):
        named.append(f"{more} more")
    if not named:
        return ""
    names = get_text_list(named, "and")
    return f"{names} {'is' if len(waiting) == 1 else 'are'} slow because of it."


def disk_title(explanation: SlowExplanation) -> str:
    """What its name stands beside."""
    if explanation.volume_id is None:
        return "Disk"
    return "Waited for" if explanation.timing.is_past else "Waits for"


def disk_name(explanation: SlowExplanation) -> str:
    """Such as "HDD sdc"; "" where none is known."""
    disk = explanation.disk
    return "" if disk is None else f"{'SSD' if disk.is_fast else 'HDD'} {disk.name}"


def why_is(explanation: SlowExplanation, labels: Labels) -> str:
    """The reason, in a sentence; that none is known, where it is not."""
    reason = _reason(explanation, labels)
    if explanation.timing.state == SpeedState.UNKNOWN and explanation.cause != Cause.UNKNOWN:
        return f"At {stamp(explanation.timing.looked_at, '%H:%M %Z')}: {reason}"
    return reason


def _reason(explanation: SlowExplanation, labels: Labels) -> str:
    disk, own = explanation.disk, explanation.own_share
    is_of_disk = explanation.volume_id is None
    name = disk.name if disk is not None else ""
    mine = "" if is_of_disk else f", this volume {percent(own)}"
    is_past = explanation.timing.is_past
    have, has, are = ("had", "had", "were") if is_past else ("have", "has", "are")
    match explanation.cause:
        case Cause.FAULT:
            return f"{name} is not well. {' '.join(explanation.faults)}"
        case Cause.OUTSIDE:
            return (
                f"No volume has {name} do this: {percent(explanation.outside_share)} of its I/O "
                f"time {are} an array check, a rebuild, a move, or the host itself."
            )
        case Cause.NEIGHBOUR if explanation.others:
            most = explanation.others[0]
            who = labels.get(most.volume_id, "A volume")
            return f"{who} {has} {percent(most.share)} of the I/O time of {name}{mine}."
        case Cause.NEIGHBOUR | Cause.NEIGHBOURS:
            share = percent(explanation.others_share)
            together = "Its volumes together" if is_of_disk else "Other volumes together"
            return f"{together} {have} {share} of the I/O time of {name}{mine}."
        case Cause.ITSELF:
            share = f"{percent(own)} of the I/O time of {name}"
            if explanation.is_queueing:
                queues = "queued" if is_past else "queues"
                return f"The volume itself {has} {share}: its I/O {queues} behind its own."
            return f"The volume itself {has} {share}. Most of a read's time is the disk's own."
        case Cause.UNLOADED:
            return _unloaded(explanation, name)
    return "The figures name no reason."


def _unloaded(explanation: SlowExplanation, name: str) -> str:
    disk = explanation.disk
    busy = percent(disk.busy) if disk is not None else "-"
    little = f"{name} is only {busy} busy, so hardly any I/O waits for another"
    if explanation.timing.is_past:
        little = f"{name} was only {busy} busy, so hardly any I/O waited for another"
    if explanation.volume_id is None or explanation.timing.since is None:
        return f"{little}."
    if disk is not None and disk.is_fast:
        return f"{little}. The reason is not this SSD: compare the hit rate with earlier days."
    return f"{little}: a read takes the time that an HDD needs to find its data."


def no_remedy(explanation: SlowExplanation) -> str:
    """Why no action is named; "" where one is, or where it is said of each cache."""
    if explanation.remedies or explanation.closed:
        return ""
    if explanation.may_become_slow:
        return "It is not slow yet: look again in a minute."
    if explanation.timing.state == SpeedState.WELL:
        return "It is not slow: nothing is to be done."
    if explanation.timing.since is None and explanation.cause != Cause.UNKNOWN:
        return "It was not slow when the last figures came: nothing is to be done."
    if explanation.cause in NO_REMEDY:
        return NO_REMEDY[explanation.cause]
    if explanation.disk is not None and explanation.disk.is_fast:
        return "Nothing that Tiercel changes helps: a cache is of no use to an SSD."
    return "Nothing that Tiercel changes would help."


def closed_caches(explanation: SlowExplanation, labels: Labels) -> tuple[str, ...]:
    """Of each cache that does not help, or cannot be had now, for whom it would be and why not."""
    own = explanation.volume_id
    return tuple(
        _closed(
            each,
            "this volume" if each.volume_id == own else labels.get(each.volume_id, "that volume"),
        )
        for each in explanation.closed
    )


def _closed(offer: CacheOffer, label: str) -> str:
    if offer.size_bytes is not None:
        cache = f"A cache of {size(offer.size_bytes)} for {label}"
        return f"{cache} is not possible now: {offer.obstacle}"
    what = "other cache" if offer.has_cache else "cache"
    return f"No {what} for {label}: {offer.obstacle or offer.reason}"


@dataclass(frozen=True, slots=True)
class RemedyWords:
    """`title` says what is done, `reason` why it helps. `commands` are for a person to type, where
    Tiercel does not do it, `undo` takes them back."""

    title: str
    reason: str
    commands: tuple[str, ...] = ()
    undo: str = ""


def remedy_words(
    explanation: SlowExplanation,
    remedy: SlowRemedy,
    labels: Labels,
    lv: LogicalVolume | None = None,
    iops: float | None = None,
) -> RemedyWords:
    """Of one remedy; `lv` and `iops` are those of its volume, where they are known."""
    is_own = remedy.volume_id is not None and remedy.volume_id == explanation.volume_id
    label = "this volume" if is_own else labels.get(remedy.volume_id or 0, "that volume")
    match remedy.help:
        case Help.ADD_CACHE:
            title = f"Add a cache of {size(remedy.size_bytes)} to {label}"
            return RemedyWords(title, remedy.reason)
        case Help.RESIZE_CACHE:
            return RemedyWords(f"Give {label} a cache of {size(remedy.size_bytes)}", remedy.reason)
        case Help.REPLACE_DISK:
            name = explanation.disk.name if explanation.disk is not None else "the disk"
            return RemedyWords(f"Replace a disk: {name}", " ".join(explanation.faults))
    commands, undo = _limit_commands(lv, iops)
    reason = "Tiercel limits no guest. "
    reason += (
        "On the host, this halves what its guest may do until it stops:"
        if commands
        else "Set a limit of IOPS for its disk where you manage your guests."
    )
    return RemedyWords(f"Limit {label}", reason, commands, undo)


def _limit_commands(lv: LogicalVolume | None, iops: float | None) -> tuple[tuple[str, ...], str]:
    """For libvirt, which alone can do that to a running guest by one line."""
    guest = next((user for user in lv.users if user.domain and user.disk), None) if lv else None
    if guest is None or not iops or iops < LIMITED_TO:
        return (), ""
    line = f"virsh blkdeviotune {shlex.quote(guest.name)} {shlex.quote(guest.disk)} --live"
    return (f"{line} --total-iops-sec {round(iops / LIMITED_TO)}",), f"{line} --total-iops-sec 0"
