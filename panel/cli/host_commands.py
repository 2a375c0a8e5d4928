"""`tiercel hosts`: storage hosts, their problems and their volume groups."""

from __future__ import annotations

import click

from .command_session import (
    NAME,
    CommandSession,
    asks_the_panel,
    completed_from,
    listing,
    path_of,
)
from .panel_client import Json
from .terminal import Column, duration, pairs, plain, screen_width, shown_time, size, table

host_argument = click.argument(
    "host", type=NAME, shell_complete=completed_from("/hosts/", "name", "site")
)
HOSTS = (
    Column("KEY", lambda row: row["key"]),
    Column("NAME", lambda row: row["name"], shrinks=True),
    Column("STATE", lambda row: row["state"]),
    Column("SITE", lambda row: row["site"], shrinks=True, spare=True),
    Column("PROBLEMS", lambda row: len(row["problems"]), right=True),
    Column("LAST SEEN", lambda row: shown_time(row["last_seen_at"]), spare=True),
)
GROUPS = (
    Column("GROUP", lambda row: row["name"], shrinks=True),
    Column("SIZE", lambda row: size(row["size_bytes"]), right=True),
    Column("FREE SSD", lambda row: size(row["free_ssd_bytes"]), right=True),
    Column("FREE HDD", lambda row: size(row["free_slow_bytes"]), right=True),
    Column("ALLOWED", lambda row: "yes" if row["allowed"] else "no"),
)
SHARES = (
    Column("VOLUME", lambda row: row["volume"]["name"], shrinks=True),
    Column("NOW", lambda row: size(row["cache_bytes"]) if row["cache_bytes"] else "-", right=True),
    Column(
        "PROPOSED",
        lambda row: size(row["proposed_bytes"]) if row["proposed_bytes"] else "-",
        right=True,
    ),
    Column("SAVED AT LEAST", lambda row: _change(row, "saved_seconds_per_day_low"), right=True),
    Column("AT MOST", lambda row: _change(row, "saved_seconds_per_day_high"), right=True),
    Column("WHY", lambda row: row["why"], shrinks=True, spare=True),
)


def _change(row: Json, field: str) -> str:
    """Waiting that a proposal saves, "-" before what it costs; "" where nothing is proposed."""
    if row["proposed_bytes"] == row["cache_bytes"]:
        return ""
    return f"{'-' if row[field] <= -1 else ''}{duration(abs(row[field]))}"


@click.group("hosts", help="Storage hosts.")
def hosts_group() -> None:
    """Storage hosts."""


@hosts_group.command("list")
@click.option("--site", type=NAME, help="Exact match.")
@click.option("--tag", type=NAME, help="Exact match.")
@listing
@asks_the_panel
def list_hosts(
    session: CommandSession, site: str | None, tag: str | None, most: int | None
) -> None:
    """List hosts."""
    rows = session.listed("/hosts/", most, site=site, tag=tag)
    session.show_table(rows, HOSTS, "No hosts.")


@hosts_group.command("show")
@host_argument
@asks_the_panel
def show_host(session: CommandSession, host: str) -> None:
    """Show a host: its state, its problems, its volume groups."""
    row = session.client.get(path_of("hosts", session.host_key(host)))
    session.show(row, _host_lines(row))


@hosts_group.command("advice")
@host_argument
@asks_the_panel
def show_advice(session: CommandSession, host: str) -> None:
    """Show which volumes of a host to cache first, and with which cache."""
    data = session.client.get(path_of("hosts", session.host_key(host), "advice"))
    session.show(data, _advice_lines(data))


def _advice_lines(data: Json) -> list[str]:
    lines = table(data["suggestions"], ADVISED, width=screen_width())
    for row in data["suggestions"]:
        lines += ["", f"{plain(row['volume']['name'])}:"]
        lines += [f"  {plain(reason)}" for reason in row["reasons"]]
        if row["obstacle"]:
            lines.append(f"  Not possible now: {plain(row['obstacle']['message'])}")
    for row in data["unhelped"]:
        sentences = f"{plain(row['reason'])} {plain(row['instead'])}".rstrip()
        lines += ["", f"{plain(row['volume']['name'])}: {sentences}"]
    return lines


def _saved(row: Json) -> str:
    low, high = row["saved_seconds_per_day_low"], row["saved_seconds_per_day_high"]
    return "" if low is None else f"{duration(low)} to {duration(high)}"


ADVISED = (
    Column("VOLUME", lambda row: row["volume"]["name"], shrinks=True),
    Column("CACHE", lambda row: size(row["size_bytes"]), right=True),
    Column("MODE", lambda row: row["mode"]),
    Column("SAVES A DAY", _saved, right=True),
    Column(
        "READS WAIT A DAY",
        lambda row: duration(row["waited_seconds_per_day"]),
        right=True,
        spare=True,
    ),
)


@hosts_group.command("allocation")
@host_argument
@asks_the_panel
def show_allocation(session: CommandSession, host: str) -> None:
    """Show the allocation of SSD, the proposed changes, and the savings of one more SSD."""
    row = session.client.get(path_of("hosts", session.host_key(host), "allocation"))
    session.show(row, _allocation_lines(row))


def _allocation_lines(row: Json) -> list[str]:
    lines = list[str]()
    for group in row["groups"]:
        lines += [f"{plain(group['name'])}: {plain(group['verdict'])}"]
        lines += table(group["items"], SHARES, width=screen_width())
        lines += [
            f"One more SSD of {each['ssd_bytes'] / 10**9:g} GB would save "
            f"{duration(each['saved_seconds_per_day'])} of waiting a day."
            for each in group["next_ssds"]
        ]
        lines.append("")
    return lines[:-1] or ["No SSD for caches."]


def _host_lines(row: Json) -> list[str]:
    maintenance = row["maintenance"]
    lines = pairs(
        [
            ("key", row["key"]),
            ("name", row["name"]),
            ("address", row["address"]),
            ("state", row["state"]),
            ("site", row["site"]),
            ("tags", ", ".join(row["tags"])),
            ("last seen", shown_time(row["last_seen_at"])),
            ("maintenance", maintenance["reason"] if maintenance else ""),
        ]
    )
    if row.get("groups"):
        lines += ["", *table(row["groups"], GROUPS, width=screen_width())]
    for problem in row["problems"]:
        lines += ["", f"{problem['severity']}: {plain(problem['message'])} ({problem['code']})"]
        if problem["correction"]:
            lines.append(f"  {plain(problem['correction'])}")
    return lines
