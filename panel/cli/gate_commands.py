"""`tiercel gate`: kernels compared by boots, before an upgrade and after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .benchmark_commands import PROFILES, TARGETS
from .command_session import (
    NAME,
    CommandSession,
    NamedPath,
    asks_the_panel,
    completed_from,
    listing,
    path_of,
)
from .host_commands import host_argument
from .option_values import byte_amount
from .panel_client import Json
from .terminal import Column, duration, plain, screen_width, shown_time, table

GATES = (
    Column("KEY", lambda row: row["key"]),
    Column("TITLE", lambda row: row["title"], shrinks=True),
    Column("STATE", lambda row: row["state"]),
    Column("KERNEL B", lambda row: row["effect"] or "-"),
    Column("HOST", lambda row: row["host"]["name"]),
    Column("CREATED", lambda row: shown_time(row["created_at"]), spare=True),
)
VERDICTS = (
    Column("TARGET", lambda row: row["target"], shrinks=True),
    Column("IOPS A", lambda row: f"{row['iops_before']:,.0f}", right=True),
    Column("IOPS B", lambda row: f"{row['iops_after']:,.0f}", right=True),
    Column("VERDICT", lambda row: row["sentence"], shrinks=True),
    Column("ALARM", lambda row: "yes" if row["is_alarm"] else "no"),
)
gate_argument = click.argument(
    "gate", type=NAME, shell_complete=completed_from("/gates/", "key", "title")
)


@click.group("gate", help="Compare kernels by boots, before and after an upgrade.")
def gate_group() -> None:
    """Gates."""


@gate_group.command("list")
@click.option("--host", type=NAME, help="Key or name of a host.")
@listing
@asks_the_panel
def list_gates(session: CommandSession, host: str | None, most: int | None) -> None:
    """List kernel gates and bisects, newest first."""
    key = None if host is None else session.host_key(host)
    session.show_table(session.listed("/gates/", most, host=key), GATES, "No gates.")


@gate_group.command("show")
@gate_argument
@asks_the_panel
def show_gate(session: CommandSession, gate: str) -> None:
    """Show what a gate waits for, what it needs, or what it found."""
    row = session.client.get(path_of("gates", gate))
    session.show(row, _lines(row))


@gate_group.command("order")
@host_argument
@click.option("--target", "targets", multiple=True, type=click.Choice(TARGETS))
@click.option("--profile", "profiles", multiple=True, type=click.Choice(PROFILES))
@click.option("--data", type=byte_amount, metavar="SIZE", required=True, help="Such as 1G.")
@click.option("--cache", type=byte_amount, metavar="SIZE", help="Such as 1G.")
@click.option("--minutes", type=click.FloatRange(0.2, 1440), default=5, show_default=True)
@click.option("--vg", type=NAME, help="Volume group, if several may be used.")
@click.option("--kernel", default="", help="The kernel to test. [default: the next new one]")
@click.option(
    "--boots", type=click.IntRange(4, 60), help="Boots of each kernel. [default: a pilot decides]"
)
@asks_the_panel
def order_gate(session: CommandSession, /, host: str, **choices: Any) -> None:
    """Compare the kernel that the host runs now with another one."""
    cache = choices["cache"]
    body = {
        "host": session.host_key(host),
        "vg": choices["vg"] or "",
        "targets": choices["targets"] or ("ssd", "hdd"),
        "profiles": choices["profiles"] or ("zipf_read",),
        "data_bytes": [choices["data"]],
        "cache_bytes": [] if cache is None else [cache],
        "seconds": round(60 * choices["minutes"]),
        "kernel_b": choices["kernel"],
        "boots_a_side": choices["boots"],
    }
    row = session.client.ask("POST", "/gates/", body=body).data
    session.show(row, _lines(row))


@gate_group.command("plan")
@gate_argument
@click.option("--slower", type=click.FloatRange(1, 50), required=True, help="Percent: 5, 10, 20.")
@asks_the_panel
def plan_gate(session: CommandSession, gate: str, slower: float) -> None:
    """Choose the slow-down that a gate detects, after its pilot."""
    _sent(session, gate, "plan", {"slower": slower / 100})


@gate_group.command("bisect")
@gate_argument
@click.option("--target", "label", required=True, help="The target, as in `tiercel gate show`.")
@click.argument("kernels", type=NamedPath())
@asks_the_panel
def bisect_kernels(session: CommandSession, gate: str, label: str, kernels: Path) -> None:
    """Find the kernel that made I/O slower. KERNELS is a file with one release a line, in order."""
    lines = [line.strip() for line in kernels.read_text().splitlines() if line.strip()]
    _sent(session, gate, "bisect", {"target": label, "kernels": lines})


@gate_group.command("skip")
@gate_argument
@click.argument("kernel", type=NAME)
@asks_the_panel
def skip_kernel(session: CommandSession, gate: str, kernel: str) -> None:
    """Skip the next kernel of a bisect, such as one that does not start."""
    _sent(session, gate, "skip", {"kernel": kernel})


@gate_group.command("accept")
@gate_argument
@click.option("--reason", required=True)
@asks_the_panel
def accept_gate(session: CommandSession, gate: str, reason: str) -> None:
    """Accept a regression, which ends the problem of the host."""
    path = path_of("gates", gate, "acceptance")
    row = session.client.ask("PUT", path, body={"reason": reason}).data
    session.show(row, _lines(row))


def _sent(session: CommandSession, gate: str, what: str, body: Json) -> None:
    row = session.client.ask("POST", path_of("gates", gate, what), body=body).data
    session.show(row, _lines(row))


def _lines(row: Json) -> list[str]:
    before, after = row["kernels"][0], row["kernels"][-1] or "another kernel"
    lines = [plain(f"{row['title']}: {row['state']}"), plain(f"{after} against {before}")]
    lines += [plain(text) for text in (row["message"], row["sentence"]) if text]
    for plan in row["plans"] if row["boots_a_side"] is None else ():
        lines.append(
            f"--slower {100 * plan['slower']:.0f}: {plan['boots_a_side']} boots of each kernel, "
            f"{duration(plan['seconds'])}"
        )
    if row["targets"]:
        lines += table(row["targets"], VERDICTS, width=screen_width())
    return lines
