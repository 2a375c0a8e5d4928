"""`tiercel orders` and `tiercel plans`: changes of a volume's cache plan, which cost money."""

from __future__ import annotations

import click

from .command_session import (
    NAME,
    CommandSession,
    asks_the_panel,
    confirmed,
    listing,
    path_of,
    yes_option,
)
from .panel_client import Json
from .terminal import Column, money, pairs, shown_time, size
from .volume_commands import name_of, volume_argument

STATES = (
    "scheduled",
    "authorising",
    "pending",
    "running",
    "completed",
    "failed",
    "refused",
    "cancelled",
)
PLANS = (
    Column("KEY", lambda row: row["key"]),
    Column("NAME", lambda row: row["name"], shrinks=True),
    Column("CACHE", lambda row: _plan_size(row), right=True),
    Column("MODE", lambda row: row["mode"]),
    Column("PRICE A MONTH", lambda row: money(row, "price_minor"), right=True),
)
ORDERS = (
    Column("KEY", lambda row: row["key"]),
    Column("STATE", lambda row: row["state"]),
    Column("INTENT", lambda row: row["intent"]),
    Column("VOLUME", lambda row: name_of(row, "volume"), shrinks=True),
    Column("PLAN", lambda row: name_of(row, "to_plan"), shrinks=True),
    Column("PRICE", lambda row: money(row, "price_minor"), right=True),
    Column("CREATED", lambda row: shown_time(row["created_at"]), spare=True),
)


CALIBRATION = (
    Column("FORECAST FROM", lambda row: row["kind"]),
    Column("TECHNOLOGY", lambda row: row["technology"]),
    Column("ORDERS", lambda row: str(row["orders"]), right=True),
    Column("IN RANGE", lambda row: str(row["within"]), right=True),
    Column("MEDIAN ERROR", lambda row: f"{100 * row['median_error']:.1f} points", right=True),
    Column("90TH PERCENTILE", lambda row: f"{100 * row['p90_error']:.1f} points", right=True),
)


@click.group("orders", help="Orders of cache plans.")
def orders_group() -> None:
    """Orders."""


@click.command("plans")
@listing
@asks_the_panel
def list_plans(session: CommandSession, most: int | None) -> None:
    """List cache plans."""
    session.show_table(session.listed("/cache-plans/", most), PLANS, "No plans.")


@click.command("calibration")
@asks_the_panel
def show_calibration(session: CommandSession) -> None:
    """Show the accuracy of forecasts, over all orders."""
    rows = session.client.get("/calibration/")["items"]
    session.show_table(rows, CALIBRATION, "No forecast has been measured yet.")


@orders_group.command("list")
@click.option("--volume", type=NAME, help="Key or external id.")
@click.option("--customer", type=NAME, help="Key.")
@click.option("--state", type=click.Choice(STATES), multiple=True, help="May be repeated.")
@listing
@asks_the_panel
def list_orders(
    session: CommandSession,
    volume: str | None,
    customer: str | None,
    state: tuple[str, ...],
    most: int | None,
) -> None:
    """List orders, newest first."""
    key = session.volume_key(volume) if volume is not None else None
    rows = session.listed("/orders/", most, volume=key, customer=customer, state=state)
    session.show_table(rows, ORDERS, "No orders.")


@orders_group.command("show")
@click.argument("order", type=NAME)
@asks_the_panel
def show_order(session: CommandSession, order: str) -> None:
    """Show an order."""
    row = session.client.get(path_of("orders", order))
    session.show(row, _order_lines(row))


@orders_group.command("place")
@volume_argument
@click.argument("plan", type=NAME, required=False)
@click.option("--none", "no_plan", is_flag=True, help="Remove the cache plan.")
@click.option("--when", type=click.Choice(("now", "period_end")), help="When it begins.")
@click.option("--trial", is_flag=True, help="A free trial.")
@click.option("--dry-run", is_flag=True, help="Show the cost; order nothing.")
@click.option(
    "--idempotency-key", "request_key", default="", help="Repeat the command with this key safely."
)
@yes_option
@asks_the_panel
def place_order(  # noqa: PLR0913 (click passes every option)
    session: CommandSession,
    volume: str,
    plan: str | None,
    no_plan: bool,
    when: str | None,
    trial: bool,
    dry_run: bool,
    request_key: str,
    is_sure: bool,
) -> None:
    """Order a cache plan for a volume, at the price shown.

    PLAN is a key or a name of `tiercel plans`.
    """
    if no_plan == (plan is not None):
        raise click.UsageError("Give a PLAN or --none.")
    path = path_of("volumes", session.volume_key(volume), "orders")
    body: Json = {"cache_plan": session.plan_key(plan) if plan is not None else None}
    if when:
        body["when"] = when
    if trial:
        body["trial"] = True
    quote = session.client.ask("POST", path, query={"dry_run": True}, body=body).data
    if dry_run:
        session.show(quote, _money_lines(quote))
        return
    if not is_sure:
        for line in _money_lines(quote):
            click.echo(line, err=True)
    confirmed("Order this?", is_sure=is_sure)
    body |= {name: quote[name] for name in ("price_minor", "currency")}
    row = session.client.ask("POST", path, body=body, key=request_key).data
    session.show(row, _order_lines(row))


def _steer(name: str, summary: str) -> None:
    @orders_group.command(name, help=summary)
    @click.argument("order", type=NAME)
    @click.option(
        "--idempotency-key",
        "request_key",
        default="",
        help="Repeat the command with this key safely.",
    )
    @yes_option
    @asks_the_panel
    def steer(session: CommandSession, order: str, request_key: str, is_sure: bool) -> None:
        confirmed(f"{summary} Go on?", is_sure=is_sure)
        row = session.client.ask("POST", path_of("orders", order, name), key=request_key).data
        session.show(row, _order_lines(row))


_steer("cancel", "Cancel an order before its work begins.")
_steer("revert", "Undo the last order of a volume.")


def _plan_size(row: Json) -> str:
    if row["size_bytes"] is not None:
        return size(row["size_bytes"])
    return f"{row['ratio_percent']} % of the volume"


def _money_lines(row: Json) -> list[str]:
    return pairs(
        [
            ("intent", row["intent"]),
            ("price a month", money(row, "price_minor")),
            ("charge today", money(row, "charge_minor")),
            ("credit", money(row, "credit_minor")),
            ("next invoice", money(row, "next_invoice_minor")),
            ("next invoice on", shown_time(row["next_invoice_at"])),
            ("begins", shown_time(row["due_at"]) or "now"),
        ]
    )


def _order_lines(row: Json) -> list[str]:
    return [
        *pairs(
            [
                ("key", row["key"]),
                ("state", row["state"]),
                ("volume", name_of(row, "volume")),
                ("from", name_of(row, "from_plan") or "no cache"),
                ("to", name_of(row, "to_plan") or "no cache"),
                ("reason", row["reason"]),
                ("job", (row["job"] or {}).get("key")),
                ("can be undone until", shown_time(row["revert_until"])),
            ]
        ),
        *_money_lines(row),
    ]
