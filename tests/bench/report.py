"""The part of docs/benchmarks.md that is about samples, out of the figures of one run of
`make bench-samples`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from panel.operations.local_services import CHECKOUT

PAGE: Final = CHECKOUT / "docs" / "benchmarks.md"
PEERS: Final = ("Prometheus", "VictoriaMetrics")
HEAD: Final = """\
# Benchmarks

What Tiercel is measured against, side by side in one run on one machine: compare ratios, because
absolute figures are that machine's. The programs are in `tests/bench`.

| command | what it compares |
|---|---|
| `make bench-samples` | samples stored, read and collected, beside Prometheus |
| `make bench-jobs` | how fast jobs are dispatched, beside Ansible |
| `make bench-pages` | the panel's own time for its pages |
| `make bench-api` | lists, volumes and series of the API, beside a bare `ModelViewSet` |
| `make bench-metrics` | how long a scrape of all volumes takes, beside prometheus-client |
| `make bench-charts` | how long until a browser shows the first chart, with a year of figures |
| `make bench-heat` | what the agent's heat costs a host, beside the same I/Os as text |
| `make bench-forecast` | forecast hit rates beside those of caches made afterwards in the lab |
| `make bench-door` | response times of other users during floods of sign-ins and API calls |

## Samples

`make bench-samples` writes this part (`SIZE=small` only prints it, in two minutes). Prometheus and
VictoriaMetrics are Debian's packages, fetched where they are missing and unpacked in `var/bench`:
nothing is installed. All are on loopback.

"""
NOTES: Final = """\

- **A figure** is one number of one volume and time. All systems have the same ones of the same
  volumes; nulls (a volume without a cache has no hits) count nowhere.
- **Prometheus** has blocks of two hours made by promtool, as it writes them itself; its ingest is
  promtool's, not that of scrapes. VictoriaMetrics' is that of its import.
- **Ingest** of Tiercel is that of rounds minute by minute, each row looked up first; what a round
  adds up for its host besides is not in it.
- **A year**: as many volumes have one as `past` says in `tests/bench/samples.py`, 20 in a full run,
  here and in the others. What 5,000 take in a year is reckoned from the bytes of full chunks.
- **Charts**: Tiercel is asked for one page's chart of all figures, with its percentiles and words,
  by one request to gunicorn. The others are asked for eight figures, by one request each; "at once"
  is one request for the eight as they are, without rates.
- **The goal for the chart of 24 hours over HTTP** is half of Prometheus' time. The view of Django
  that signs in and reads no figure shows what of that is left for figures. Prometheus' eight
  requests have no sign-in, no permissions and no rows of others to hide.
- **Top 20 and overview**: Tiercel's are whole pages in HTML with all that they show, of all its
  volumes; the others answer one query, or eight, of theirs.
"""


OTHERS: Final = "\n## Other benchmarks\n"
"""What follows is written by hand."""


def write_page(result: Mapping[str, Any], *, is_kept: bool) -> None:
    """Print the part; with `is_kept` it takes its place in docs/benchmarks.md."""
    text = HEAD + "\n".join(_lines(result)) + "\n" + NOTES
    print(text)
    if is_kept:
        _before, heading, others = PAGE.read_text().partition(OTHERS)
        PAGE.write_text(text + heading + others)


def _lines(result: Mapping[str, Any]) -> Iterator[str]:
    ours, peers = result["ours"], result["peers"]
    yield (
        f"{datetime.now(UTC):%-d %B %Y}, SIZE={result['size']}: {result['volumes']:,} volumes,"
        f" {result['cpus']} CPUs, load {result['load_before']} before and {result['load_after']}"
        " after."
    )
    if result["load_after"] > result["cpus"]:
        yield "Others used the machine meanwhile: what takes long here waits for them as well, and"
        yield "so does more than what is over in a few milliseconds."
    yield ""
    there = [name for name in PEERS if "bytes" in peers.get(name, {})]
    yield from _table(
        ("", "Tiercel", *(f"{name} ({peers[name]['volumes']} volumes)" for name in there),
         *(f"of {name}" for name in there)),
        _rows(result, ours, [peers[name] for name in there]),
    )  # fmt: skip
    yield from (
        f"\n{name} is left out: {peers[name]['left_out']}" for name in PEERS if name not in there
    )
    yield ""
    yield from _more(result)


def _rows(
    result: Mapping[str, Any], ours: Mapping[str, Any], peers: Sequence[Mapping[str, Any]]
) -> Iterator[Sequence[str]]:
    size = result["storage"]["bytes_a_figure"]
    bytes_each = [each["bytes_a_figure"] for each in peers]
    yield (
        "bytes a figure",
        f"{size:.2f}",
        *(f"{each:.2f}" for each in bytes_each),
        *(f"{size / each:.2f}" for each in bytes_each),
    )
    figures = result["storage"]["figures"] / result["storage"]["rows"]
    ingest = result["ingest"]["rows_s"] * figures
    ingest_each = [each["figures_s"] for each in peers]
    yield (
        "ingest, figures/s",
        f"{ingest:,.0f}",
        *(f"{each:,}" for each in ingest_each),
        *(f"{ingest / each:.2f}" for each in ingest_each),
    )
    for name in ours["charts"]:
        yield _timed(f"chart of {name}", ours["charts"][name], [e["charts"][name] for e in peers])
    yield _timed("chart of 24h, at once", ours["charts"]["24h"], [e["one_request"] for e in peers])
    for name, words in (("top_20", "top 20"), ("overview", "overview")):
        yield _timed(words, ours[name], [each[name] for each in peers])


def _timed(
    words: str, ours: Mapping[str, float], peers: Sequence[Mapping[str, float]]
) -> Sequence[str]:
    return (
        f"{words}, p50 / p95",
        *(f"{each['p50_ms']:.1f} / {each['p95_ms']:.1f} ms" for each in (ours, *peers)),
        *(f"{ours['p50_ms'] / each['p50_ms']:.2f}" for each in peers),
    )


def _more(result: Mapping[str, Any]) -> Iterator[str]:
    ours, ingest, polls = result["ours"], result["ingest"], result["polls"]
    collector, few = result["collector"], ours["24h_of_few"]
    yield from _table(("goal", "figure", "", ""), _goals(result))
    yield from _table(("", "figure"), _figures(result, ours, ingest, polls, collector, few))


def _figures(
    result: Mapping[str, Any],
    ours: Mapping[str, Any],
    ingest: Mapping[str, Any],
    polls: Mapping[str, Any],
    collector: Mapping[str, Any],
    few: Mapping[str, Any],
) -> Iterator[Sequence[str]]:
    yield "ingest by raw COPY", f"{ingest['copy_rows_s']:,} rows/s"
    yield (
        "ingest, a repeated row changes nothing",
        f"{ingest['rows_s']:,} rows/s, {ingest['of_copy']:.2f} of COPY",
    )
    bare = result["bare_view"]
    yield (
        "a view of Django that signs in, reads one volume and sends 80 kB",
        f"{bare['p50_ms']:.1f} / {bare['p95_ms']:.1f} ms",
    )
    for name, timed in ours["decoded"].items():
        yield (
            f"{name} in database and decoding",
            f"{timed['p50_ms']:.1f} / {timed['p95_ms']:.1f} ms, {timed['cpu_ms']:.1f} ms of CPU"
            " besides PostgreSQL's",
        )
    yield (
        f"chart of 24h with {result['volumes']:,} volumes, of that with {few['volumes']:,}",
        f"{ours['charts']['24h']['p50_ms'] / few['p50_ms']:.2f}",
    )
    storage = result["storage"]
    for name, size in storage["bytes_a_volume_day"].items():
        words = "as measured" if name == "raw" else f"in steps of {name}"
        yield f"a day of a volume {words}", f"{size:,} bytes"
    yield "5,000 volumes for a year", f"{storage['year_gb']:.1f} GB"
    new, kept = polls["openssh"], polls["kept"]
    yield (
        "a poll over a new OpenSSH connection",
        f"{new['p50_ms']:.1f} ms, {new['client_cpu_ms']:.1f} ms of CPU on the panel",
    )
    yield (
        "a poll over the connection that is kept",
        f"{kept['p50_ms']:.2f} ms, {kept['client_cpu_ms']:.2f} ms of CPU:"
        f" {kept['client_cpu_ms'] / new['client_cpu_ms']:.3f} of that",
    )
    yield (
        f"collector with {collector['hosts']} hosts every {collector['interval_s']} s",
        f"{collector['cores']:.2f} of a core, {collector['missed_rounds']} of"
        f" {collector['rounds']:,} rounds missed in {collector['seconds']} s"
        f" (PostgreSQL: {collector['postgres_cores']:.2f} of a core)",
    )


def _goals(result: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    """What this run should show: words, the figure, the goal and whether it is met."""
    ours, storage = result["ours"], result["storage"]
    charts, decoded, collector = ours["charts"], ours["decoded"], result["collector"]
    for name, goal, peer_chart in (("Prometheus", 0.8, 0.5), ("VictoriaMetrics", 1.0, None)):
        peer = result["peers"].get(name, {})
        if "bytes_a_figure" in peer:
            share = storage["bytes_a_figure"] / peer["bytes_a_figure"]
            yield _goal(f"bytes a figure, of {name}", share, goal)
        if "bytes_a_figure" in peer and peer_chart is not None:
            share = charts["24h"]["p50_ms"] / peer["charts"]["24h"]["p50_ms"]
            yield _goal(f"chart of 24h over HTTP, of {name}", share, peer_chart)
    yield _goal("30d in database and decoding, ms", decoded["30d"]["p50_ms"], 15)
    yield _goal("1y in database and decoding, ms", decoded["1y"]["p50_ms"], 30)
    growth = charts["24h"]["p50_ms"] / ours["24h_of_few"]["p50_ms"]
    yield _goal(f"chart of 24h with {result['volumes']:,} volumes, of that with few", growth, 1.2)
    yield _goal("ingest, of COPY", result["ingest"]["of_copy"], 0.4, is_least=True)
    yield _goal("collector, cores", collector["cores"], 0.25)
    yield _goal("collector, rounds missed", collector["missed_rounds"], 0)
    yield _goal("5,000 volumes for a year, GB", storage["year_gb"], 35)


def _goal(words: str, figure: float, goal: float, *, is_least: bool = False) -> Sequence[str]:
    is_met = figure >= goal if is_least else figure <= goal
    sign = "at least" if is_least else "at most"
    return words, f"{figure:.4g}", f"{sign} {goal:g}", "met" if is_met else "not met"


def _table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""
