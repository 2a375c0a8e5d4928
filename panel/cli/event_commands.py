"""`tiercel events`: what happened, and what happens."""

from __future__ import annotations

from time import monotonic, sleep

import click

from .command_session import NAME, CommandSession, asks_the_panel
from .panel_client import Json
from .terminal import json_text, plain

LATEST = "latest"
PAGE_ITEMS = 200
WAIT_SECONDS = 25
POLL_SECONDS = 2.0
SHOWN_KEYS = ("volume", "job", "order", "host", "alert", "customer")


@click.group("events", help="What happened to jobs, volumes, caches, hosts, orders and alerts.")
def events_group() -> None:
    """Events."""


@events_group.command("tail")
@click.option("--after", help="Start after the event with this id.  [default: what is new]")
@click.option("--from-start", is_flag=True, help="Start with the oldest event.")
@click.option(
    "--type",
    "kinds",
    type=NAME,
    multiple=True,
    help="Such as job.failed or job.*. May be repeated.",
)
@click.option("--volume", type=NAME, help="Key or external id.")
@click.option("--host", type=NAME, help="Key or name.")
@click.option("--no-follow", is_flag=True, help="Show the current events, then exit.")
@asks_the_panel
def tail(
    session: CommandSession,
    after: str | None,
    from_start: bool,
    kinds: tuple[str, ...],
    volume: str | None,
    host: str | None,
    no_follow: bool,
) -> None:
    """Show events as they come, each on a line that begins with its id.

    To continue where you stopped, give the last id to --after. With --json, each is a JSON object.
    """
    if after is None and not from_start:
        after = session.client.get("/events/", cursor=LATEST)["next_cursor"]
    filters = {
        "type": kinds,
        "volume": session.volume_key(volume) if volume is not None else None,
        "host": session.host_key(host) if host is not None else None,
        "wait": None if no_follow else WAIT_SECONDS,
    }
    while True:
        begun = monotonic()
        page = session.client.get("/events/", cursor=after, limit=PAGE_ITEMS, **filters)
        after = page["next_cursor"]
        for event in page["items"]:
            click.echo(json_text(event) if session.as_json else _line(event))
        if len(page["items"]) == PAGE_ITEMS:
            continue
        if no_follow:
            return
        # Where no place to wait was left, the answer came at once.
        sleep(max(0.0, POLL_SECONDS - (monotonic() - begun)))


def _line(event: Json) -> str:
    data = event["data"]
    keys = [f"{name}={data[name]}" for name in SHOWN_KEYS if data.get(name)]
    changes = [
        f"{name}={value}"
        for name, value in data.items()
        if name not in SHOWN_KEYS and value not in (None, "")
    ]
    words = (event["id"], event["timestamp"], event["type"], *keys, *changes)
    return plain(" ".join(map(str, words)))
