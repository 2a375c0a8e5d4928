"""An explanation in the words of the volume's customer. Nothing here has the name of a disk, a
host, or another customer's volume: neighbours are a share. Pure."""

from __future__ import annotations

from storage.analysis.slowness.explanation import Cause, Lack, SlowExplanation, SpeedState
from storage.formatting import ms, percent, seconds
from storage.health.slowness import SLOW_MINUTES, WELL_AFTER
from storage.language import gettext


def question(explanation: SlowExplanation) -> str:
    """What the explanation answers."""
    match explanation.timing.state:
        case SpeedState.SLOW:
            return gettext("Why is it slow?")
        case SpeedState.OVER:
            return gettext("Why was it slow?")
    return gettext("Is it slow?")


def what_is(explanation: SlowExplanation) -> str:
    """How slow it is, or was."""
    speed, state = explanation.speed, explanation.timing.state
    if speed is None or state == SpeedState.UNKNOWN:
        return gettext("There is no current data of your volume.")
    if speed.read_ms is None or Lack.READS in explanation.lacks:
        return gettext("Your volume reads too little to measure its speed.")
    if state == SpeedState.OVER:
        return gettext("Reads are no longer slow.")
    lasted = speed.over.total_seconds()
    if state == SpeedState.SLOW:
        is_now = not explanation.timing.is_ebbing
        return slow_words(speed.read_ms, speed.limit_ms, lasted, is_now=is_now)
    text = gettext("Reads are not slow: over the last {span}, a read took {time} on average.")
    if explanation.may_become_slow:
        text = gettext(
            "For {span}, a read has taken {time} on average. Once that lasts {least}, we call it "
            "slow."
        )
    least = seconds(60 * SLOW_MINUTES)
    return text.format(span=seconds(lasted), time=ms(speed.read_ms), least=least)


def slow_words(read_ms: float | None, limit_ms: int, lasted: float, *, is_now: bool) -> str:
    """How slow a volume is whose reads have taken `read_ms` for so many seconds; not `is_now`: they
    are faster already."""
    text = gettext(
        "For {span}, a read has taken {time} on average. From {limit} ms on we call it slow."
    )
    if not is_now:
        text = gettext(
            "For {span}, a read took {time} on average. Reads are faster now: once that lasts "
            "{least}, we no longer call it slow."
        )
    least = seconds(WELL_AFTER.total_seconds())
    return text.format(span=seconds(lasted), time=ms(read_ms), limit=limit_ms, least=least)


def where_is(explanation: SlowExplanation) -> str:
    """What kind of disk it waits for, or waited for, and how busy that is; "" where that is not
    known."""
    disk, is_past = explanation.disk, explanation.timing.is_past
    if disk is None:
        return ""
    kind = gettext("the SSD of its cache") if disk.is_fast else gettext("the slow disk (HDD)")
    if disk.busy is None:
        text = gettext("Your volume waits for {disk}.")
        return (gettext("Your volume waited for {disk}.") if is_past else text).format(disk=kind)
    text = gettext("Your volume waits for {disk}, which is {busy} busy.")
    if is_past:
        text = gettext("Your volume waited for {disk}, which was {busy} busy.")
    return text.format(disk=kind, busy=percent(disk.busy))


def why_is(explanation: SlowExplanation) -> str:
    """The reason, in a sentence or two."""
    others, own = percent(explanation.others_share), percent(explanation.own_share)
    disk, is_past = explanation.disk, explanation.timing.is_past
    if explanation.cause == Cause.UNLOADED and disk is not None and disk.is_fast:
        if is_past:
            return gettext("This SSD had little to do, so it is not what made reads slow.")
        return gettext("This SSD has little to do, so it is not what makes reads slow.")
    if explanation.cause == Cause.UNLOADED and explanation.timing.since is None:
        return (
            gettext("The disk had little to do.")
            if is_past
            else gettext("The disk has little to do.")
        )
    if explanation.cause == Cause.ITSELF and not explanation.is_queueing:
        text = gettext(
            "Your share of the work of this disk: {own}. Most of the time of a read is the disk's "
            "own."
        )
        return text.format(own=own)
    reason = _reason_then if is_past else _reason
    return reason(explanation.cause).format(others=others, own=own)


def _reason(cause: Cause) -> str:
    match cause:
        case Cause.NEIGHBOUR | Cause.NEIGHBOURS:
            return gettext(
                "Other volumes use {others} of the time of this disk, your volume uses {own}."
            )
        case Cause.ITSELF:
            return gettext("Your volume keeps the disk busy itself: it uses {own} of its time.")
        case Cause.FAULT:
            return gettext("A disk of the server has a fault. Your provider sees it, too.")
        case Cause.OUTSIDE:
            return gettext(
                "The server itself uses most of the time of this disk, for example to check it."
            )
        case Cause.UNLOADED:
            return gettext(
                "The disk has little to do. A read takes the time that a slow disk needs to find "
                "its data."
            )
    return gettext("There is too little data to name a reason.")


def _reason_then(cause: Cause) -> str:
    match cause:
        case Cause.NEIGHBOUR | Cause.NEIGHBOURS:
            return gettext(
                "Other volumes used {others} of the time of this disk, your volume used {own}."
            )
        case Cause.ITSELF:
            return gettext("Your volume kept the disk busy itself: it used {own} of its time.")
        case Cause.FAULT:
            return gettext("A disk of the server has a fault. Your provider sees it, too.")
        case Cause.OUTSIDE:
            return gettext(
                "The server itself used most of the time of this disk, for example to check it."
            )
        case Cause.UNLOADED:
            return gettext(
                "The disk had little to do. A read took the time that a slow disk needs to find "
                "its data."
            )
    return gettext("There is too little data to name a reason.")


def new_cache(explanation: SlowExplanation) -> str:
    """Of a volume that got its cache in the slow time, or after it: what that cache does."""
    if explanation.timing.is_past:
        return gettext("Since then your volume has a new cache.")
    return gettext("Your volume has a new cache: it fills while data is read.")


def helps(explanation: SlowExplanation, *, has_cache: bool, has_forecast: bool) -> str:
    """What may help; "" where nothing of what is sold does. Plans show what each would bring only
    where there is a forecast."""
    disk = explanation.disk
    if disk is None or disk.is_fast or explanation.cause in (Cause.OUTSIDE, Cause.FAULT):
        return ""
    if explanation.cause == Cause.UNKNOWN or explanation.timing.since is None:
        return ""
    text = gettext("Reads from a cache do not wait for this disk.")
    if has_cache:
        text = gettext("A larger cache may help.")
    if has_forecast:
        text = f"{text} {gettext('The plans show what each would bring.')}"
    return text
