"""`tiercel benchmark`: what disks and caches of hosts reach, measured and compared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final, TextIO

import click

from .command_session import (
    NAME,
    CommandSession,
    NamedFile,
    NamedPath,
    asks_the_panel,
    completed_from,
    confirmed,
    listing,
    path_of,
    waiting,
    yes_option,
)
from .exit_codes import CommandError, ExitCode
from .host_commands import host_argument
from .option_values import byte_amount
from .panel_client import Json
from .terminal import Column, duration, percent, plain, screen_width, shown_time, size, table

OVER: Final = ("done", "failed", "cancelled")
POLL_SECONDS: Final = 5.0
TARGETS: Final = (
    "ssd",
    "hdd",
    "lvmcache",
    "lvmcache-writeback",
    "bcache",
    "bcache-no-cutoff",
    "bcache-writeback",
    "bcache-writearound",
)
PROFILES: Final = (
    "zipf_read",
    "mixed",
    "sequential_read",
    "sequential_write",
    "sync_write",
    "file_tree",
    "sql",
    "heat",
    "own",
)
STATES: Final = ("new", "warmed", "junk")
BENCHMARKS = (
    Column("KEY", lambda row: row["key"]),
    Column("TITLE", lambda row: row["title"], shrinks=True),
    Column("STATE", lambda row: row["state"]),
    Column("RUNS", lambda row: f"{row['done_runs']}/{row['total_runs']}", right=True),
    Column("HOST", lambda row: row["host"]["name"] if row["host"] else "-"),
    Column("CREATED", lambda row: shown_time(row["created_at"]), spare=True),
)
ENTRANTS = (
    Column("TARGET", lambda row: row["name"], shrinks=True),
    Column("IOPS", lambda row: f"{row['iops']:,.0f}", right=True),
    Column("RUNS", lambda row: len(row["runs"]), right=True),
    Column("VERDICT", lambda row: row["sentence"] or "most IOPS", shrinks=True),
)
RUNS = (
    Column("RUN", lambda row: row["key"]),
    Column("STATE", lambda row: row["state"]),
    Column("IOPS", lambda row: _number(row["iops"]), right=True),
    Column("FROM SSD", lambda row: percent(row["hit_rate"]), right=True),
    Column("99 %", lambda row: _ms(row["p99_ms"]), right=True),
    Column("KERNEL", lambda row: row["kernel"], shrinks=True, spare=True),
)
benchmark_argument = click.argument(
    "benchmark", type=NAME, shell_complete=completed_from("/benchmarks/", "key", "title")
)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g} ms"


@click.group("benchmark", help="Measure and compare disks and caches.")
def benchmark_group() -> None:
    """Benchmarks."""


@benchmark_group.command("list")
@click.option("--host", type=NAME, help="Key or name of a host.")
@click.option("--state", type=click.Choice(("wanted", "running", "paused", *OVER)))
@listing
@asks_the_panel
def list_benchmarks(
    session: CommandSession, host: str | None, state: str | None, most: int | None
) -> None:
    """List benchmarks, newest first."""
    key = None if host is None else session.host_key(host)
    rows = session.listed("/benchmarks/", most, host=key, state=state)
    session.show_table(rows, BENCHMARKS, "No benchmarks.")


@benchmark_group.command("show")
@benchmark_argument
@click.option("--runs", "shows_runs", is_flag=True, help="Show each run with its figures.")
@asks_the_panel
def show_benchmark(session: CommandSession, benchmark: str, shows_runs: bool) -> None:
    """Show the results of a benchmark: the winner, the margin, and how certain it is."""
    if shows_runs:
        rows = session.listed(path_of("benchmarks", benchmark, "runs"), None)
        session.show_table(rows, RUNS, "No runs.")
        return
    row = session.client.get(path_of("benchmarks", benchmark))
    session.show(row, _lines(row))


@benchmark_group.command("order")
@host_argument
@click.option("--vg", type=NAME, help="Volume group, if several may be used.")
@click.option("--title", default="", help="A title for people.")
@click.option(
    "--target", "targets", multiple=True, type=click.Choice(TARGETS), help="May be repeated."
)
@click.option("--profile", "profiles", multiple=True, type=click.Choice(PROFILES))
@click.option(
    "--job-file",
    type=NamedPath(),
    help="The fio job file of --profile own.",
)
@click.option("--heat-of", type=NAME, help="The volume whose heat --profile heat replays.")
@click.option(
    "--state", "states", multiple=True, type=click.Choice(STATES), help="Initial state of caches."
)
@click.option(
    "--data",
    "data",
    multiple=True,
    type=byte_amount,
    metavar="SIZE",
    required=True,
    help="Such as 4G.",
)
@click.option(
    "--cache", "cache", multiple=True, type=byte_amount, metavar="SIZE", help="Such as 4G."
)
@click.option("--minutes", type=click.FloatRange(0.2, 1440), default=30, show_default=True)
@click.option("--warm-minutes", type=click.FloatRange(0.2, 1440), default=30, show_default=True)
@click.option("--repeats", type=click.IntRange(1, 30), default=3, show_default=True)
@click.option("--jobs", type=click.IntRange(1, 32), default=2, show_default=True)
@click.option("--iodepth", type=click.IntRange(1, 256), default=8, show_default=True)
@click.option(
    "--estimate", "only_estimates", is_flag=True, help="Show time and space; order nothing."
)
@waiting
@yes_option
@asks_the_panel
def order_benchmark(
    session: CommandSession,
    /,
    host: str,
    only_estimates: bool,
    waits: bool,
    timeout: float | None,
    request_key: str,
    is_sure: bool,
    **choices: Any,
) -> None:
    """Order a benchmark: each target with each profile and size, one run after the other.

    Without --target the evening that was published: SSD, HDD, bcache with and without its cutoff,
    lvmcache. Every run works on scratch volumes of its own.
    """
    volume = choices["heat_of"]
    body = _body(session.host_key(host), choices) | {
        "heat_of": session.volume_key(volume) if volume else ""
    }
    matrix = {name: value for name, value in body.items() if name != "title"}
    estimate = session.client.ask("POST", "/benchmarks/estimate", body=matrix).data
    if only_estimates:
        session.show(estimate, _estimate_lines(estimate))
        return
    for line in _estimate_lines(estimate):
        session.note(line)
    confirmed("Order it?", is_sure=is_sure)
    made = session.client.ask("POST", "/benchmarks/", body=body, key=request_key).data
    if waits:
        made = _until_over(session, made["key"], timeout)
    session.show(made, _lines(made))
    _demand_done(made)


def _body(host: str, choices: Json) -> Json:
    return {
        "host": host,
        "vg": choices["vg"] or "",
        "title": choices["title"],
        "targets": choices["targets"] or ("ssd", "hdd", "bcache", "bcache-no-cutoff", "lvmcache"),
        "profiles": choices["profiles"] or ("zipf_read",),
        "states": choices["states"] or ("new",),
        "job_file": choices["job_file"].read_text() if choices["job_file"] else "",
        "data_bytes": choices["data"],
        "cache_bytes": choices["cache"],
        "seconds": round(60 * choices["minutes"]),
        "warm_seconds": round(60 * choices["warm_minutes"]),
        "repeats": choices["repeats"],
        "jobs": choices["jobs"],
        "iodepth": choices["iodepth"],
    }


@benchmark_group.command("watch")
@benchmark_argument
@click.option("--timeout", type=click.FloatRange(0, min_open=True), help="Seconds.")
@asks_the_panel
def watch_benchmark(session: CommandSession, benchmark: str, timeout: float | None) -> None:
    """Watch a benchmark until it ends."""
    row = _until_over(session, benchmark, timeout)
    session.show(row, _lines(row))
    _demand_done(row)


@benchmark_group.command("pause")
@benchmark_argument
@click.option("--now", is_flag=True, help="Also stop the current run; it is repeated later.")
@asks_the_panel
def pause_benchmark(session: CommandSession, benchmark: str, now: bool) -> None:
    """Pause a benchmark: start no further run."""
    _act(session, benchmark, "pause", {"now": now})


@benchmark_group.command("resume")
@benchmark_argument
@asks_the_panel
def resume_benchmark(session: CommandSession, benchmark: str) -> None:
    """Resume a paused benchmark."""
    _act(session, benchmark, "resume")


@benchmark_group.command("cancel")
@benchmark_argument
@yes_option
@asks_the_panel
def cancel_benchmark(session: CommandSession, benchmark: str, is_sure: bool) -> None:
    """Cancel a benchmark. Results so far are kept."""
    confirmed("Cancel it? The current run stops.", is_sure=is_sure)
    _act(session, benchmark, "cancel")


def _act(session: CommandSession, benchmark: str, act: str, body: Json | None = None) -> None:
    row = session.client.ask("POST", path_of("benchmarks", benchmark, act), body=body).data
    session.show(row, _lines(row))


@benchmark_group.command("compare")
@click.argument("names", nargs=-1, required=True, type=NAME)
@click.option(
    "--varied", multiple=True, help="A condition that you vary on purpose, such as kernel."
)
@asks_the_panel
def compare_runs(session: CommandSession, names: Sequence[str], varied: Sequence[str]) -> None:
    """Compare benchmarks and single runs (KEY or KEY.3); "published" is the published one."""
    row = session.client.get("/benchmarks/compare", of=",".join(names), varied=list(varied))
    session.show(row, [line for each in row["contests"] for line in _contest_lines(each)])


@benchmark_group.command("import")
@click.argument("files", nargs=-1, required=True, type=NamedPath())
@click.option("--title", default="", help="A title for people.")
@click.option("--machine", default="", help="Where it was measured.")
@asks_the_panel
def import_files(session: CommandSession, files: Sequence[Path], title: str, machine: str) -> None:
    """Import outputs of fio or YABS. Give the logs of a run together with its JSON."""
    body = {
        "files": [{"name": each.name, "content": _text(each)} for each in files],
        "title": title,
        "machine": machine,
    }
    made = session.client.ask("POST", "/benchmarks/import", body=body).data
    for sentence in (*made["refused"], *made["warnings"]):
        session.note(sentence)
    session.show(
        made, [f"Imported as {made['benchmark']['key']}: {plain(made['benchmark']['name'])}"]
    )


@benchmark_group.command("export")
@benchmark_argument
@click.argument("file", type=NamedFile("w"))
@asks_the_panel
def export_benchmark(session: CommandSession, benchmark: str, file: TextIO) -> None:
    """Write a benchmark with its raw files as JSON, for archives and verification."""
    json.dump(session.client.get(path_of("benchmarks", benchmark, "export")), file)


@benchmark_group.command("verify")
@click.argument("file", type=NamedFile("r"))
@asks_the_panel
def verify_file(session: CommandSession, file: TextIO) -> None:
    """Recompute the figures of an exported or shared benchmark from its raw files."""
    document = _document(file)
    verification: Json = {"checked_figures": 0, "runs_without_files": [], "differences": []}
    for part in _parts(document):
        body = {"document": part}
        checked = session.client.ask("POST", "/benchmarks/verify", body=body).data
        verification["checked_figures"] += checked["checked_figures"]
        verification["runs_without_files"] += checked["runs_without_files"]
        verification["differences"] += checked["differences"]
    verification["agrees"] = verification["checked_figures"] > 0 and not verification["differences"]
    session.show(verification, _verified_lines(verification))
    if not verification["agrees"]:
        raise CommandError(
            "The figures do not match the raw files."
            if verification["differences"]
            else "No run has raw files: nothing could be checked.",
            "",
            ends_with=ExitCode.FAILED,
        )


def _document(file: TextIO) -> Json:
    try:
        document = json.load(file)
    except ValueError:
        document = None
    if not isinstance(document, dict) or not isinstance(document.get("runs"), list):
        raise CommandError(
            "This is not an exported benchmark.",
            "Create one: tiercel benchmark export KEY FILE.json",
            ends_with=ExitCode.USAGE,
        )
    return document


def _parts(document: Json) -> Iterator[Json]:
    """One run at a time, as requests have a limit; what was imported belongs together."""
    if document.get("figures_from") == "imported":
        yield document
        return
    for run in document["runs"]:
        yield {**document, "runs": [run]}


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except UnicodeDecodeError:
        raise CommandError(
            f"{plain(path.name)} is not a text file.",
            "fio and YABS write text; unpack it first.",
            ends_with=ExitCode.USAGE,
        ) from None


def _until_over(session: CommandSession, key: str, timeout: float | None) -> Json:
    """The benchmark once it has ended; raises `CommandError` after the timeout."""
    begun, noted = monotonic(), ""
    while True:
        row: Json = session.client.get(path_of("benchmarks", key))
        if row["state"] in OVER:
            return row
        if (progress := _progress(row)) != noted:
            noted = progress
            session.note(progress)
        waited = monotonic() - begun
        if timeout is not None and waited >= timeout:
            raise CommandError(
                f"The benchmark has not ended after {duration(timeout)}; it continues.",
                f"Watch it later: tiercel benchmark watch {key}",
                ends_with=ExitCode.WAITED_TOO_LONG,
            )
        sleep(POLL_SECONDS if timeout is None else min(POLL_SECONDS, max(timeout - waited, 0.05)))


def _demand_done(row: Json) -> None:
    if row["state"] in ("failed", "cancelled"):
        raise CommandError(
            f"The benchmark did not finish: {row['state']}. {row['message']}",
            row["correction"],
            ends_with=ExitCode.FAILED,
        )


def _progress(row: Json) -> str:
    left = row["seconds_left"]
    rest = "" if left is None else f", about {duration(left)} left"
    done = f"{row['done_runs']} of {row['total_runs']} runs"
    return f"{row['state']}: {done}{rest}. {row['message']}".strip()


def _lines(row: Json) -> list[str]:
    lines = [f"{row['key']}  {plain(row['title'])}", plain(_progress(row))]
    for contest in row.get("contests") or ():
        lines += _contest_lines(contest)
    return lines


def _contest_lines(contest: Json) -> list[str]:
    lines = ["", plain(contest["title"])]
    for each in contest["differing"]:
        values = "; ".join(
            f"{one['value']} ({', '.join(one['entrants'])})" for one in each["values"]
        )
        kind = "Compared" if each["is_compared"] else "Differs, so there is no verdict"
        lines.append(plain(f"{kind}: {each['name']}: {values}"))
    lines.append(plain(". ".join(filter(None, (contest["headline"], contest["margin"])))))
    if contest["basis"]:
        lines.append(plain(contest["basis"]))
    return [*lines, *table(contest["entrants"], ENTRANTS, width=screen_width())]


def _estimate_lines(row: Json) -> list[str]:
    share = row["endurance_share"]
    wear = "" if share is None else f", {percent(share)} of what the SSD is rated for"
    lines = [
        f"{row['runs']} runs, about {duration(row['seconds'])}",
        f"{size(row['slow_bytes'])} of HDD and {size(row['fast_bytes'])} of SSD while a run lasts",
        f"{size(row['ssd_written_bytes'])} written to SSD at most{wear}",
    ]
    if row["refusal"]:
        lines.append(plain(f"Not possible now: {row['refusal']} {row['correction']}"))
    return lines


def _verified_lines(verification: Json) -> list[str]:
    lines = [f"{verification['checked_figures']} figures recomputed:  "]
    lines[0] += (
        "all agree." if verification["agrees"] else f"{len(verification['differences'])} differ."
    )
    lines += [
        plain(
            f"Run {each['run']}, {each['figure']}: {each['published']}, computed {each['computed']}"
        )
        for each in verification["differences"]
    ]
    if verification["runs_without_files"]:
        numbers = ", ".join(map(str, verification["runs_without_files"]))
        lines.append(f"Runs without raw files, which were not checked: {numbers}")
    return lines
