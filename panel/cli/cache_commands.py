"""`tiercel cache`: what would be done, and doing it."""

from __future__ import annotations

from collections.abc import Iterator

import click

from .command_session import (
    NAME,
    CommandSession,
    asks_the_panel,
    confirmed,
    path_of,
    waiting,
    yes_option,
)
from .exit_codes import CommandError, ExitCode
from .job_progress import commands_of, ending, watched
from .option_values import byte_amount, chosen_window, window_options
from .panel_client import Json
from .terminal import duration, plain, shown_time, size
from .volume_commands import volume_argument

MODES = ("writethrough", "writeback", "writearound")
PLAN_SECONDS = 120.0


@click.group("cache", help="Plan, apply and remove caches. VOLUME is a key or an external id.")
def cache_group() -> None:
    """Caches."""


@cache_group.command("plan")
@volume_argument
@click.option(
    "--size", "size_bytes", type=byte_amount, metavar="SIZE", help="SSD space: 256M, 10GiB."
)
@click.option(
    "--mode",
    type=click.Choice(MODES),
    help="[default: the current mode; writethrough for a first cache]",
)
@click.option("--none", "no_cache", is_flag=True, help="Plan the removal of the cache.")
@window_options
@asks_the_panel
def plan_cache(
    session: CommandSession,
    volume: str,
    size_bytes: int | None,
    mode: str | None,
    no_cache: bool,
    window: str | None,
    zone: str,
) -> None:
    """Show the exact commands for a cache, and run none.

    The plan's key is what `tiercel cache apply` takes. It is kept for a day.
    """
    if no_cache == (size_bytes is not None) or (no_cache and mode):
        raise CommandError("Give --size or --none.", ends_with=ExitCode.USAGE)
    wanted: Json | None = None if no_cache else {"size_bytes": size_bytes}
    if wanted is not None and mode:
        wanted["mode"] = mode
    answer = _planned(session, session.volume_key(volume), wanted, chosen_window(window, zone))
    session.show(answer, _plan_lines(answer))


@cache_group.command("apply")
@click.argument("plan", type=NAME)
@yes_option
@waiting
@asks_the_panel
def apply_plan(
    session: CommandSession,
    plan: str,
    is_sure: bool,
    waits: bool,
    timeout: float | None,
    request_key: str,
) -> None:
    """Run exactly the commands of a plan.

    PLAN is the key that `tiercel cache plan` showed. If the commands would be different by now, the
    job fails as `stale` and changes nothing.
    """
    if not is_sure:
        # With --yes the plan was read before; without, a person reads it now.
        job = session.client.get(path_of("jobs", plan))
        for line in _plan_lines(job):
            click.echo(line, err=True)
    confirmed("Run these commands?", is_sure=is_sure)
    _apply(session, plan, waits=waits, timeout=timeout, request_key=request_key)


@cache_group.command("remove")
@volume_argument
@window_options
@yes_option
@waiting
@asks_the_panel
def remove_cache(
    session: CommandSession,
    volume: str,
    window: str | None,
    zone: str,
    is_sure: bool,
    waits: bool,
    timeout: float | None,
    request_key: str,
) -> None:
    """Plan the removal of a volume's cache, show it, and run it.

    What only the cache holds is written to the HDD first.
    """
    answer = _planned(session, session.volume_key(volume), None, chosen_window(window, zone))
    if "is_met" in answer:
        session.show(answer, _plan_lines(answer))
        return
    if not is_sure:
        for line in _plan_lines(answer):
            click.echo(line, err=True)
    confirmed("Run these commands?", is_sure=is_sure)
    _apply(session, answer["key"], waits=waits, timeout=timeout, request_key=request_key)


def _planned(session: CommandSession, key: str, wanted: Json | None, window: Json) -> Json:
    """The dry run once its commands are known, or the wish where it is met already."""
    path = path_of("volumes", key, "wish")
    answer: Json = session.client.ask(
        "PUT", path, query={"dry_run": True}, body={"cache": wanted, **window}
    ).data
    if "is_met" in answer:
        return answer
    job = watched(session.client, answer["key"], timeout=PLAN_SECONDS, is_silent=session.as_json)
    if (error := ending(job)) is not None:
        raise error
    return job


def _apply(
    session: CommandSession, plan: str, *, waits: bool, timeout: float | None, request_key: str
) -> None:
    answer = session.client.ask("POST", path_of("jobs", plan, "apply"), key=request_key)
    show_job(session, answer.data, waits=waits, timeout=timeout)


def show_job(session: CommandSession, job: Json, *, waits: bool, timeout: float | None) -> None:
    """The job as it is, or once it has ended; raises `CommandError` where it did not succeed."""
    if not waits:
        follow = f"Follow it: tiercel jobs follow {job['key']}"
        session.show(job, [f"Job {job['key']}: {plain(job['state'])}", follow])
        return
    job = watched(session.client, job["key"], timeout=timeout, is_silent=session.as_json)
    session.show(job, [f"Job {job['key']}: {plain(job['state'])}"])
    if (error := ending(job)) is not None:
        raise error


def _plan_lines(answer: Json) -> Iterator[str]:
    if "is_met" in answer:
        yield "The volume already has this state; there is nothing to do."
        return
    yield from commands_of(answer)
    if cost := answer.get("cost"):
        yield ""
        yield f"Takes about {duration(cost['seconds'])}; needs {size(cost['ssd_bytes'])} of SSD."
        if cost["dirty_bytes"]:
            yield f"{size(cost['dirty_bytes'])} of the guest's data are only in the cache now."
        if cost["final_step"] is not None:
            yield f"From step {cost['final_step']} on, the job cannot be undone."
    if estimate := answer.get("window_estimate"):
        yield f"Starts {shown_time(estimate['opens_at'])}."
        if estimate["done_until"]:
            yield f"Done by {shown_time(estimate['done_until'])} at the latest."
        if estimate["outlasts"]:
            yield "It may take longer than its window; a flush then continues in the next one."
    yield ""
    yield f"Apply it: tiercel cache apply {answer['key']}"
