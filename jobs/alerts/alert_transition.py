"""The next state of each alert: pure, from the last state, the problems seen now, and a clock.

An alert opens once its problem has lasted for its hold time. It notifies unless something mutes it:
a silence, maintenance of its host, or the alert that it follows from. It is resolved once the
problem has been absent for a while; that notifies only where the opening did. Three openings within
a day are flapping, and so are two where the first was escalated: one message, then none until the
problem has been present, or absent, for longer than such a cycle takes. A problem that returns
within a day must be absent for longer to be resolved, and a flapping one is resolved only while its
day has a message left for the next opening.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from jobs.alerts.alert_rules import (
    AT_RISK_RANK,
    NO_NEWS,
    SIBLINGS_WITHIN,
    WARNING_RANK,
    SeenProblem,
    are_siblings,
    comes_late,
    follows,
    hold_seconds,
    is_news_of_the_host,
    lapse,
    resolve_after,
)
from jobs.alerts.alert_state import (
    LEAST_STABLE,
    AlertEpisode,
    AlertNews,
    AlertState,
    RoundContext,
    RoundOutcome,
)
from jobs.models.alert import AlertEventKind as Kind
from storage.problems.all_kinds import PRECEDENCE, kind_of

DAY: Final = timedelta(days=1)
FLAPPING_OPENINGS: Final = 3
"""Openings within a day."""
MESSAGES_A_DAY: Final = 6
"""Of one flapping problem, to each recipient."""
AFTER_ITS_CAUSE: Final = timedelta(minutes=5)
"""A consequence may outlast its resolved cause by a little."""
WORSE_AGAIN: Final = timedelta(minutes=30)
LAST_TIER: Final = 3
MANY_HOSTS: Final = 3


def next_round(
    before: Mapping[str, AlertState], seen: Mapping[str, SeenProblem], context: RoundContext
) -> RoundOutcome:
    """The alerts after this round, by fingerprint. Repeated with the same clock it changes nothing
    more."""
    alerts = _looked_at(before, seen, context)
    unheard = {
        each.seen.host_id
        for each in alerts.values()
        if each.seen.family in NO_NEWS and each.is_present
    }
    ordered = sorted(alerts, key=lambda fingerprint: _order(alerts[fingerprint]))
    mute_reasons = {each: _mute_reason(state.seen, context) for each, state in alerts.items()}
    causes = _causes(alerts, ordered, mute_reasons, context)
    for fingerprint, leading in causes.items():
        # One alert represents all of them, so it is as grave as the gravest.
        alerts[leading] = _at_least_as_grave(alerts[leading], alerts[fingerprint].seen)
    news: list[AlertNews] = []
    for fingerprint in ordered:
        state = alerts[fingerprint]
        cause = alerts[causes[fingerprint]] if fingerprint in causes else None
        was = before.get(fingerprint)
        is_worse = was is not None and state.seen.rank < was.seen.rank
        alerts[fingerprint], happened = _one(
            state, cause, unheard, mute_reasons[fingerprint], context, is_worse=is_worse
        )
        news += [replace(each, fingerprint=fingerprint) for each in happened]
    grown = _grown(alerts, context.now)
    return RoundOutcome(alerts | grown.alerts, (*news, *grown.news))


def _looked_at(
    before: Mapping[str, AlertState], seen: Mapping[str, SeenProblem], context: RoundContext
) -> dict[str, AlertState]:
    """Which problems are present and which absent; pending alerts without their problem vanish."""
    now = context.now
    alerts: dict[str, AlertState] = {}
    unheard = {each.host_id for each in seen.values() if each.family in NO_NEWS}
    for fingerprint, state in before.items():
        problem = seen.get(fingerprint)
        if problem is not None:
            alerts[fingerprint] = _present(state, problem, now)
        elif state.seen.host_id in unheard and is_news_of_the_host(state.seen):
            alerts[fingerprint] = state
        elif state.opened_at is not None:
            alerts[fingerprint] = _absent(state, now)
    for fingerprint, problem in seen.items():
        if fingerprint not in alerts:
            new = AlertState(problem, now, now, worst_rank=problem.rank)
            alerts[fingerprint] = new.seeing(problem)
    return alerts


def _present(state: AlertState, problem: SeenProblem, now: datetime) -> AlertState:
    if state.absent_since is None:
        return state.seeing(problem)
    gone = now - state.absent_since
    if not state.is_flapping and gone < resolve_after(problem):
        # Absent too briefly to be resolved: as if it had been present throughout.
        return replace(state.seeing(problem), absent_since=None)
    return replace(
        replace(state, seen=problem).seeing(problem),
        absent_since=None,
        present_since=now,
        openings=state.openings + 1,
        longest_absence=max(state.longest_absence, gone),
    )


def _absent(state: AlertState, now: datetime) -> AlertState:
    if state.absent_since is not None:
        return state
    longest_presence = max(state.longest_presence, now - state.present_since)
    return replace(state, absent_since=now, longest_presence=longest_presence)


# --- Which follows from which --------------------------------------------------------------------


def _order(state: AlertState) -> tuple[int, bool, datetime, str]:
    """Causes before effects, then by first sight; of slow volumes first the one that has notified,
    or that keeps the disk busy itself."""
    place, seen = PRECEDENCE.get(state.seen.family, 0), state.seen
    leads = bool(seen.waits_for) and (seen.is_culprit or state.notified_at is not None)
    return place, not leads, state.first_seen_at, seen.fingerprint


def _causes(
    alerts: Mapping[str, AlertState],
    ordered: Iterable[str],
    mute_reasons: Mapping[str, str],
    context: RoundContext,
) -> dict[str, str]:
    """The alert that each one follows from; a cause follows from none itself."""
    causes: dict[str, str] = {}
    leaders: dict[int, list[AlertState]] = {}
    explained: set[str] = set()
    away = _away(alerts, mute_reasons)
    for fingerprint in ordered:
        state = alerts[fingerprint]
        of_host = leaders.setdefault(state.seen.host_id, [])
        is_disk = state.seen.code == "disk_vanished"
        leading = [
            each for each in of_host if not is_disk or each.seen.fingerprint not in explained
        ]
        cause = _cause_of(state, leading, mute_reasons)
        if cause is None:
            cause = _first_of_many_hosts(state, away, alerts, causes, context)
        if cause is not None:
            causes[fingerprint] = cause.seen.fingerprint
            if is_disk and kind_of(cause.seen.code).is_of_one_lost_disk:
                explained.add(cause.seen.fingerprint)
        elif not _is_over(state, context):
            of_host.append(state)
    return causes


def _cause_of(
    state: AlertState, leaders: Iterable[AlertState], mute_reasons: Mapping[str, str]
) -> AlertState | None:
    """The alert of the same host that this one follows from. An alert that has notified stays
    independent."""
    if state.notified_at is not None or not state.is_present:
        return None
    is_muted = bool(mute_reasons[state.seen.fingerprint])
    for each in leaders:
        near = _near(state, each)
        # Most problems that begin long after another one have a cause of their own.
        is_old_news = near or comes_late(state.seen, each.seen)
        # A flapping cause counts between two openings, too.
        is_there = each.is_present or each.is_flapping
        if is_there and is_old_news and follows(state.seen, each.seen):
            return each
        is_heard = each.is_present and (is_muted or not mute_reasons[each.seen.fingerprint])
        if near and is_heard and are_siblings(state.seen, each.seen):
            return each
    return None


def _at_least_as_grave(cause: AlertState, effect: SeenProblem) -> AlertState:
    if cause.seen.rank <= effect.rank:
        return cause
    return replace(cause, seen=replace(cause.seen, rank=effect.rank, severity=effect.severity))


def _near(one: AlertState, other: AlertState) -> bool:
    """Whether both began at about the same time."""
    return abs(one.first_seen_at - other.first_seen_at) <= SIBLINGS_WITHIN


def _away(alerts: Mapping[str, AlertState], mute_reasons: Mapping[str, str]) -> list[str]:
    """The alerts of hosts that do not answer, the first silent one first. A muted one cannot
    represent the others."""
    away = [
        each
        for fingerprint, each in alerts.items()
        if each.seen.family == "contact" and each.is_present and not mute_reasons[fingerprint]
    ]
    return [each.seen.fingerprint for each in sorted(away, key=_order)]


def _first_of_many_hosts(
    state: AlertState,
    away: Sequence[str],
    alerts: Mapping[str, AlertState],
    causes: Mapping[str, str],
    context: RoundContext,
) -> AlertState | None:
    """When most hosts stop answering at once, the fault is in the panel or its network: one alert
    represents all."""
    is_away = state.seen.family == "contact" and state.is_present
    if not is_away or state.notified_at is not None:
        return None
    together = [alerts[each] for each in away if _near(alerts[each], state)]
    if len(together) < max(MANY_HOSTS, context.host_count / 2):
        return None
    first = next((each for each in together if each.seen.fingerprint not in causes), None)
    return first if first is not None and _order(first) < _order(state) else None


def _grown(alerts: Mapping[str, AlertState], now: datetime) -> RoundOutcome:
    """Acknowledged data at risk notifies again once it affects more things."""
    counts: dict[str, int] = {}
    for each in alerts.values():
        if each.cause and each.opened_at is not None and each.resolved_at is None:
            counts[each.cause] = counts.get(each.cause, 0) + each.seen.count
    changed: dict[str, AlertState] = {}
    news: list[AlertNews] = []
    for fingerprint, state in alerts.items():
        total = state.seen.count + counts.get(fingerprint, 0)
        if state.acknowledged_at is None or state.resolved_at is not None:
            continue
        if state.acknowledged_count == 0:  # this round is the first to see that it is acknowledged
            changed[fingerprint] = replace(state, acknowledged_count=total)
        elif total > state.acknowledged_count and state.worst_rank == AT_RISK_RANK:
            changed[fingerprint] = _reopened(state, now)
            text = f"It affects {total} now; it was {state.acknowledged_count} when acknowledged."
            is_notified = not state.muted_by
            news.append(AlertNews(fingerprint, Kind.WORSENED, is_notified, text))
    return RoundOutcome(changed, tuple(news))


# --- One alert -----------------------------------------------------------------------------------


def _one(
    state: AlertState,
    cause: AlertState | None,
    unheard: set[int],
    muted_by: str,
    context: RoundContext,
    *,
    is_worse: bool,
) -> tuple[AlertState, list[AlertNews]]:
    now = context.now
    if not state.is_present:
        frozen = state.seen.host_id in unheard and is_news_of_the_host(state.seen)
        return (state, []) if frozen else _while_absent(state, context)
    led = cause.seen.fingerprint if cause is not None else ""
    if state.cause and not led:
        # Its cause is resolved: it gets some time to end, too.
        state = replace(state, cause="", present_since=now, muted_by=muted_by)
    elif led != state.cause:
        state = replace(state, cause=led)
    news: list[AlertNews] = []
    if state.opened_at is None:
        if cause is not None and cause.opened_at is None:
            return state, news
        if cause is None and now - state.present_since < hold_seconds(state.seen):
            return state, news
        state = replace(state, opened_at=now)
        if cause is not None:
            news.append(_quiet(Kind.OPENED, "Another alert covers it."))
    if cause is not None:
        # Customers of a volume are notified of consequences, too.
        return replace(state, muted_by=muted_by or cause.muted_by), news
    return _while_present(state, news, muted_by, context, is_worse=is_worse)


def _while_absent(state: AlertState, context: RoundContext) -> tuple[AlertState, list[AlertNews]]:
    if not _is_over(state, context):
        return state, []
    is_notified = state.notified_at is not None
    why = lapse(state.seen.code, state.seen.since, state.absent_since)
    return replace(state, resolved_at=context.now), [AlertNews("", Kind.RESOLVED, is_notified, why)]


def _is_over(state: AlertState, context: RoundContext) -> bool:
    """Whether the problem has been absent for long enough. A flapping one is not resolved before
    its day has room for two messages: an opening after that must notify."""
    if state.absent_since is None:
        return False
    gone = context.now - state.absent_since
    if not state.is_flapping:
        was_today = any(_today(state, context))
        return gone >= max(resolve_after(state.seen), LEAST_STABLE if was_today else timedelta(0))
    times = context.message_times.get(state.seen.fingerprint, ())
    today = sum(each > context.now - DAY for each in times)
    return gone >= state.stable_absence and today + 2 <= MESSAGES_A_DAY


def _while_present(
    state: AlertState,
    news: list[AlertNews],
    muted_by: str,
    context: RoundContext,
    *,
    is_worse: bool,
) -> tuple[AlertState, list[AlertNews]]:
    """An open alert whose problem is present and follows from nothing."""
    now = context.now
    if muted_by:
        if not state.muted_by:
            is_new = state.opened_at == now and state.notified_at is None
            words = "host in maintenance" if muted_by == "maintenance" else "silenced"
            kind = Kind.OPENED if is_new else Kind.SILENCED
            news.append(_quiet(kind, f"No message: {words}."))
        return replace(state, muted_by=muted_by), news
    was_muted = bool(state.muted_by)
    state = replace(state, muted_by="")
    if state.notified_at is None:
        return _first_message(state, news, context, was_muted=was_muted)
    is_new_low = state.seen.rank < state.worst_rank
    is_low_again = is_worse and now - (state.last_notified_at or now) >= WORSE_AGAIN
    if is_new_low or is_low_again:
        news.append(AlertNews("", Kind.WORSENED, True, state.seen.message))
        return _reopened(state, now), news
    if state.acknowledged_at is not None:
        until = state.acknowledged_until
        if until is not None and until <= now:
            news.append(
                AlertNews("", Kind.UNACKNOWLEDGED, True, "The acknowledgement has expired.")
            )
            return _reopened(state, now), news
        return state, news
    if state.is_flapping:
        if now - state.present_since < state.stable_presence:
            return state, news
        text = "It has stopped flapping and is now permanent."
        news.append(AlertNews("", Kind.REMAINS, True, text))
        return _reopened(replace(state, is_flapping=False, openings=1), now), news
    if state.openings > 1 and _openings(state, context) >= FLAPPING_OPENINGS:
        return _begins_to_flap(state, news, context)
    due = (state.tier_at or state.notified_at) + context.escalate_after
    if state.seen.rank < WARNING_RANK and state.tier < LAST_TIER and due <= now:
        state = replace(state, tier=state.tier + 1, tier_at=now, last_notified_at=now)
        text = f"Not acknowledged: escalated to tier {state.tier}."
        news.append(AlertNews("", Kind.ESCALATED, True, text))
    return state, news


def _first_message(
    state: AlertState, news: list[AlertNews], context: RoundContext, *, was_muted: bool
) -> tuple[AlertState, list[AlertNews]]:
    now = context.now
    is_new = state.opened_at == now
    if not is_new and not was_muted and now - state.present_since < AFTER_ITS_CAUSE:
        return state, news
    state = replace(
        state,
        notified_at=now,
        last_notified_at=now,
        tier_at=now,
        worst_rank=state.seen.rank,
    )
    was_escalated = any(each.tier > 1 for each in _today(state, context))
    if was_escalated or _openings(state, context) >= FLAPPING_OPENINGS:
        return _begins_to_flap(state, news, context)
    if is_new:
        return state, [*news, AlertNews("", Kind.OPENED, True, state.seen.message)]
    text = "The silence has ended." if was_muted else "Its cause is resolved."
    return state, [*news, AlertNews("", Kind.REMAINS, True, text)]


def _today(state: AlertState, context: RoundContext) -> list[AlertEpisode]:
    """Its episodes that ended within a day."""
    past = context.past.get(state.seen.fingerprint, ())
    return [each for each in past if each.ended > context.now - DAY]


def _openings(state: AlertState, context: RoundContext) -> int:
    """How often it opened within a day."""
    return state.openings + sum(each.openings for each in _today(state, context))


def _begins_to_flap(
    state: AlertState, news: list[AlertNews], context: RoundContext
) -> tuple[AlertState, list[AlertNews]]:
    """Notify all tiers that it had reached, so that it need not escalate again."""
    past = _today(state, context)
    reached = max((state.tier, *(each.tier for each in past)))
    state = replace(_flapping(state, past), tier=reached, last_notified_at=context.now)
    text = f"It opened {_openings(state, context)} times within a day. The next message follows "
    text += "once it is stable."
    return state, [*news, AlertNews("", Kind.FLAPPING, True, text)]


def _flapping(state: AlertState, past: Sequence[AlertEpisode]) -> AlertState:
    """With the longest absence and presence of the last day."""
    episodes = sorted(past, key=lambda each: each.began)
    begins = [*(each.began for each in episodes), state.first_seen_at]
    gaps = [begin - each.ended for each, begin in zip(episodes, begins[1:], strict=True)]
    return replace(
        state,
        is_flapping=True,
        longest_absence=max(
            (state.longest_absence, *gaps, *(each.longest_absence for each in episodes))
        ),
        longest_presence=max(
            (
                state.longest_presence,
                *(max(each.ended - each.began, each.longest_presence) for each in episodes),
            )
        ),
    )


def _reopened(state: AlertState, now: datetime) -> AlertState:
    """Notify again, from the first tier on: the acknowledgement did not cover this."""
    return replace(
        state,
        acknowledged_at=None,
        acknowledged_until=None,
        acknowledged_count=0,
        last_notified_at=now,
        tier=1,
        tier_at=now,
        worst_rank=min(state.worst_rank, state.seen.rank),
    )


def _mute_reason(seen: SeenProblem, context: RoundContext) -> str:
    if seen.host_id in context.maintained:
        return "maintenance"
    return "silence" if any(each.mutes(seen) for each in context.silences) else ""


def _quiet(kind: Kind, text: str) -> AlertNews:
    return AlertNews("", kind, False, text)
