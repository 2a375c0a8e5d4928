"""`tiercel volumes`: lists, records, and what a volume did."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import click

from .command_session import (
    NAME,
    CommandSession,
    asks_the_panel,
    completed_from,
    listing,
    path_of,
)
from .exit_codes import CommandError, ExitCode
from .panel_client import Json
from .terminal import (
    UNKNOWN,
    Column,
    duration,
    figure,
    money,
    pairs,
    percent,
    plain,
    screen_width,
    shown_time,
    size,
    table,
)

STATES = ("managed", "found", "planned", "previewed", "missing", "retired", "destroyed")
MOST_POINTS = 2000
volume_argument = click.argument(
    "volume", type=NAME, shell_complete=completed_from("/volumes/", "key", "label")
)


def name_of(row: Json, field: str) -> str:
    """The name of what a volume or a job belongs to."""
    return str(row[field]["name"]) if row.get(field) else ""


def cache_text(row: Json) -> str:
    """Size and mode of the cache."""
    cache = row["cache"]
    return f"{size(cache['size_bytes'])} {cache['mode']}" if cache else ""


VOLUMES = (
    Column("KEY", lambda row: row["key"]),
    Column("LABEL", lambda row: row["label"], shrinks=True),
    Column("SIZE", lambda row: size(row["size_bytes"]), right=True),
    Column("CACHE", cache_text),
    Column("STATE", lambda row: row.get("state")),
    Column("HOST", lambda row: name_of(row, "host"), shrinks=True, spare=True),
    Column("CUSTOMER", lambda row: name_of(row, "customer"), shrinks=True, spare=True),
    Column("EXTERNAL ID", lambda row: row["external_id"], shrinks=True, spare=True),
)


@click.group("volumes", help="Volumes. VOLUME is a key or an external id.")
def volumes_group() -> None:
    """Volumes."""


@volumes_group.command("list")
@click.option("--host", type=NAME, help="Key or name.")
@click.option("--customer", type=NAME, help="Key.")
@click.option("--guest", type=NAME, help="Part of the guest's name.")
@click.option("--external-id", type=NAME, help="Exact match.")
@click.option("--state", type=click.Choice(STATES), multiple=True, help="May be repeated.")
@listing
@asks_the_panel
def list_volumes(
    session: CommandSession,
    host: str | None,
    customer: str | None,
    guest: str | None,
    external_id: str | None,
    state: tuple[str, ...],
    most: int | None,
) -> None:
    """List volumes, oldest first."""
    rows = session.listed(
        "/volumes/",
        most,
        host=host,
        customer=customer,
        guest=guest,
        external_id=external_id,
        state=state,
    )
    session.show_table(rows, VOLUMES, "No volumes.")


@volumes_group.command("show")
@volume_argument
@asks_the_panel
def show_volume(session: CommandSession, volume: str) -> None:
    """Show a volume, and whether it matches its record."""
    key = session.volume_key(volume)
    row = session.client.get(path_of("volumes", key))
    row["wish"] = session.client.get(path_of("volumes", key, "wish"))
    session.show(row, _volume_lines(row))


@volumes_group.command("set")
@volume_argument
@click.option("--label", help="Its name in the panel.")
@click.option("--external-id", help="Its id in your own system; '' removes it.")
@click.option("--note", help="A note for staff; '' removes it.")
@click.option("--customer", help="Key of its customer; '' removes it.")
@asks_the_panel
def set_volume(
    session: CommandSession,
    volume: str,
    label: str | None,
    external_id: str | None,
    note: str | None,
    customer: str | None,
) -> None:
    """Change a volume's record. The host is not changed."""
    changes = {"label": label, "external_id": external_id, "note": note, "customer": customer}
    body: Json = {name: value for name, value in changes.items() if value is not None}
    if not body:
        raise CommandError("No change given.", "See --help.", ends_with=ExitCode.USAGE)
    if body.get("customer") == "":
        body["customer"] = None
    path = path_of("volumes", session.volume_key(volume))
    row = session.client.ask("PATCH", path, body=body).data
    row["wish"] = None
    session.show(row, _volume_lines(row))


@volumes_group.command("series")
@volume_argument
@click.option("--from", "begin", help="RFC 3339 time.  [default: an hour before --to]")
@click.option("--to", "end", help="RFC 3339 time.  [default: now]")
@click.option("--points", type=click.IntRange(1, MOST_POINTS), default=20, show_default=True)
@asks_the_panel
def show_series(
    session: CommandSession, volume: str, begin: str | None, end: str | None, points: int
) -> None:
    """Show a volume's figures over time; - where nothing was measured."""
    path = path_of("volumes", session.volume_key(volume), "series")
    data = session.client.get(path, **{"from": begin, "to": end, "points": points})
    columns = data["series"]
    count = max((len(values) for values in columns.values()), default=0)
    rows = [{name: values[n] for name, values in columns.items()} | {"n": n} for n in range(count)]
    session.show(data, table(rows, _series_columns(data), width=screen_width()))


@volumes_group.command("plans")
@volume_argument
@asks_the_panel
def show_plans(session: CommandSession, volume: str) -> None:
    """Show what each cache plan would bring to a volume."""
    data = session.client.get(path_of("volumes", session.volume_key(volume), "outlook"))
    lines = table(data["items"], PLANS, width=screen_width())
    for row in data["items"]:
        if row["expected"]:
            lines += ["", f"{_plan_name(row)}: {plain(row['expected']['text'])}"]
    session.show(data, lines)


@volumes_group.command("curve")
@volume_argument
@click.option("--mode", type=click.Choice(("writethrough", "writeback")), help="Mode of the cache.")
@asks_the_panel
def show_curve(session: CommandSession, volume: str, mode: str | None) -> None:
    """Show the benefit of SSD for a volume, by size; * marks the smallest sufficient one."""
    path = path_of("volumes", session.volume_key(volume), "curve")
    data = session.client.get(path, mode=mode)
    lines = table(data["items"], SIZES, width=screen_width())
    session.show(data, [plain(data["reason"])] if data["reason"] else lines)


def _plan_name(row: Json) -> str:
    return name_of(row, "cache_plan") or "No cache"


def _range(row: Json, field: str, shown: Callable[[object], str]) -> str:
    low, high = row[f"{field}_low"], row[f"{field}_high"]
    return "" if low is None else f"{shown(low)} to {shown(high)}"


def _expected(row: Json, field: str, shown: Callable[[object], str]) -> str:
    return _range(row["expected"], field, shown) if row["expected"] else ""


def _ms(value: object) -> str:
    return f"{figure(value, 2)} ms"


PLANS = (
    Column("PLAN", _plan_name, shrinks=True),
    Column("PRICE A MONTH", lambda row: money(row, "price_minor"), right=True),
    Column("READS FROM SSD", lambda row: _expected(row, "hit_rate", percent), right=True),
    Column("A READ TAKES", lambda row: _expected(row, "read_ms", _ms), right=True, spare=True),
    Column(
        "SAVES A DAY", lambda row: _expected(row, "saved_seconds_per_day", duration), right=True
    ),
)
SIZES = (
    Column("", lambda row: "*" if row["is_enough"] else " "),
    Column("SSD", lambda row: size(row["size_bytes"]), right=True),
    Column("READS FROM SSD", lambda row: _range(row, "hit_rate", percent), right=True),
    Column("A READ TAKES", lambda row: _range(row, "read_ms", _ms), right=True, spare=True),
    Column("SAVES A DAY", lambda row: _range(row, "saved_seconds_per_day", duration), right=True),
    Column("VERDICT", lambda row: row["verdict"]),
)


def _series_columns(data: Json) -> list[Column]:
    titles = {
        "read_iops": ("READ/S", figure),
        "write_iops": ("WRITE/S", figure),
        "read_ms": ("READ MS", figure),
        "write_ms": ("WRITE MS", figure),
        "hit_rate": ("HIT RATE", percent),
        "dirty_bytes": ("DIRTY", size),
    }
    start, step = datetime.fromisoformat(data["t0"]), timedelta(seconds=data["step_seconds"])
    until = Column("UNTIL", lambda row: shown_time((start + (row["n"] + 1) * step).isoformat()))
    return [until] + [
        Column(
            title,
            lambda row, name=name, shown=shown: shown(row[name]),  # type: ignore[misc]
            right=True,
            spare=True,
        )
        for name, (title, shown) in titles.items()
        if name in data["series"]
    ]


def _volume_lines(row: Json) -> list[str]:
    figures, wish = row["figures"] or {}, row.get("wish") or {}
    last_job = wish.get("last_job") or {}
    met = {True: "yes", False: "no", None: ""}[wish.get("is_met")]
    lines = pairs(
        [
            ("key", row["key"]),
            ("label", row["label"]),
            ("external id", row["external_id"]),
            ("size", size(row["size_bytes"])),
            ("cache", cache_text(row) or "none"),
            ("cache plan", name_of(row, "cache_plan")),
            ("customer", name_of(row, "customer")),
            ("state", row.get("state")),
            ("host", name_of(row, "host")),
            ("lv", f"{row['vg']}/{row['lv']}" if row.get("lv") else ""),
            ("technology", row.get("technology")),
            ("guest", row.get("guest")),
            ("reads a second", figure(figures.get("read_iops"))),
            ("writes a second", figure(figures.get("write_iops"))),
            ("ms for a read", figure(figures.get("read_ms"))),
            ("hit rate", percent(figures.get("hit_rate"))),
            ("as wished", met),
            ("last job", last_job.get("key")),
        ]
    )
    lines += [f"note: {plain(each)}" for each in (row.get("note") or "").splitlines()]
    for each in row.get("drift") or []:
        changes = f"{plain(each['recorded'])} -> {plain(each['found'])}"
        lines.append(f"differs: {plain(each['what'])}: {changes}")
    return [line for line in lines if not line.endswith(f"  {UNKNOWN}")]
