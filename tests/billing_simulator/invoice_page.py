"""The simulator's page, as plain HTML. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from storage.currency import major_of

Json = dict[str, Any]


def page(state: Json) -> str:
    """Invoices, orders that wait for a decision, and every message."""
    return "\n".join(
        (
            '<!doctype html><html lang="en"><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "<title>Billing simulator</title><h1>Billing simulator</h1>",
            "<p>Not a real billing system: it forgets everything when it ends. "
            '<a href="/state.json">The same as JSON</a></p>',
            "<h2>Waiting for a decision</h2>",
            *(map(_pending, state["pending"]) if state["pending"] else ("<p>None.</p>",)),
            "<h2>Invoices</h2>",
            *(_invoice(name, each) for name, each in state["invoices"].items()),
            "<p>No line yet.</p>" if not state["invoices"] else "",
            "<h2>Messages</h2>",
            _table(("Message", "Came", "About", "Answer"), map(_message, state["messages"])),
            "</html>",
        )
    )


def _pending(message: Json) -> str:
    order = message["data"]
    buttons = "".join(
        f'<button name="decision" value="{word}">{word.title()}</button> '
        for word in ("approve", "refuse")
    )
    return (
        '<form method="post" action="/decide"><p>'
        f"{escape(_about(order))}: {_money(order['charge_minor'], order['currency'])} "
        f'<input type="hidden" name="order" value="{escape(order["order"])}">{buttons}</p></form>'
    )


def _invoice(name: str, invoice: Json) -> str:
    rows = (
        (
            line["period_start"][:10],
            line["kind"],
            line["description"],
            f"{'-' if line['kind'] == 'credit' else ''}"
            f"{_money(line['amount_minor'], line['currency'])}",
            line["id"],
        )
        for line in invoice["lines"]
    )
    sums = ", ".join(_money(minor, code) for code, minor in invoice["sum_minor"].items())
    table = _table(("From", "Kind", "What", "Amount", "Id"), rows)
    return f"<h3>Customer {escape(name)}: {sums}</h3>{table}"


def _message(message: Json) -> tuple[str, ...]:
    answer = message["answer"].get("decision", "")
    return message["type"], f"{message['times']}x", _about(message["data"]), answer


def _about(data: Json) -> str:
    plan = (data.get("to_plan") or {}).get("name", "")
    who = data.get("customer_external_id") or data.get("customer", "")
    return " ".join(filter(None, (who, data.get("description") or plan, data.get("order"))))


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f'<table border="1"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'


def _money(minor: int, currency: str) -> str:
    return f"{escape(currency)} {major_of(minor, currency)}"
