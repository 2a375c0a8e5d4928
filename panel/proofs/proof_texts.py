"""The texts of a proof: the verdict first, then the figures. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from panel.models import Intent, Order, Proof, ProofState
from panel.orders.order_texts import StateChip
from panel.portal.speed_summary import of_hundred
from storage.analysis.before_after import Verdict, notable
from storage.formatting import iops, ms, percent

OTHER_LOAD: Final = 1.5
"""From this factor on the use before and after is called different."""
HEADLINES: Final = {
    Verdict.GAIN: "It helped",
    Verdict.LOSS: "Fewer reads come from SSD than before",
    Verdict.NONE: "No gain seen",
    Verdict.UNCLEAR: "Not enough data",
}
CHIPS: Final = {
    Verdict.GAIN: StateChip("ok", "ok", "gain"),
    Verdict.LOSS: StateChip("warning", "warning", "loss"),
    Verdict.NONE: StateChip("quiet", "info", "no gain"),
    Verdict.UNCLEAR: StateChip("quiet", "wait", "unclear"),
}
SLOWER: Final = StateChip("warning", "warning", "gain, but slower")
KEPT: Final = StateChip("ok", "ok", "no loss")
ABOUT: Final = 1.25
"""Within this factor two times are "about" the same."""


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A figure before and after with its unit; widths are percent of the larger of both."""

    label: str
    before: str
    after: str
    before_width: str
    after_width: str


@dataclass(frozen=True, slots=True)
class Brief:
    """A proof in a few lines, for the pages of its volume."""

    headline: str
    verdict: str
    confidence: str
    chip: StateChip


def brief(proof: Proof) -> Brief:
    """The proof without its figures."""
    return Brief(headline(proof), verdict(proof), confidence(proof), chip(proof))


def chip(proof: Proof) -> StateChip:
    """The proof in a word, for lists."""
    if proof.state == ProofState.READY:
        if is_dearly_won(proof):
            return SLOWER
        return KEPT if is_kept(proof) else CHIPS[Verdict(proof.verdict)]
    if proof.state == ProofState.IMPOSSIBLE:
        return StateChip("quiet", "cut", "not measurable")
    is_warming = proof.state == ProofState.WAITING
    return StateChip("busy", "run", "warming up" if is_warming else "measuring")


def headline(proof: Proof) -> str:
    """The verdict in a few words."""
    if proof.state == ProofState.READY:
        if is_dearly_won(proof):
            return "More reads come from SSD, but a read takes longer"
        if is_kept(proof):
            return "No loss seen"
        of_reads = " for reads" if proof.verdict == Verdict.NONE and takes_writes(proof) else ""
        return f"{HEADLINES[Verdict(proof.verdict)]}{of_reads}"
    if proof.state == ProofState.IMPOSSIBLE:
        return "The effect could not be measured"
    return "The report is being prepared"


def is_dearly_won(proof: Proof) -> bool:
    """Whether more reads come from SSD, and yet a read surely takes longer: no customer would call
    that help."""
    least = proof.result.get("read_times_low")
    return proof.verdict == Verdict.GAIN and least is not None and least > 1


def takes_writes(proof: Proof) -> bool:
    """Whether the plan was sold for faster writes too: what reads gain is not all then."""
    plan = proof.order.to_plan
    return plan is not None and plan.mode == "writeback"


def is_kept(proof: Proof) -> bool:
    """Whether a cheaper plan does as well: what its customer hoped for."""
    if proof.verdict != Verdict.NONE or not _is_alike(proof.result):
        return False
    return proof.order.intent == Intent.DOWNGRADE


def _is_alike(result: Mapping[str, Any]) -> bool:
    """Whether a notable loss is ruled out too, not only a gain."""
    return bool(result["hit_rate_change_low"] > -notable(result["hit_rate_before"]))


def verdict(proof: Proof) -> str:
    """The verdict in two or three sentences."""
    if proof.state == ProofState.IMPOSSIBLE:
        return proof.reason
    if proof.state != ProofState.READY:
        return _progress(proof)
    result = proof.result
    after, before = of_hundred(result["hit_rate_after"]), _count(result["hit_rate_before"])
    rates = f"{after[0].upper()}{after[1:]} came from SSD, before {before}."
    match Verdict(proof.verdict):
        case Verdict.UNCLEAR:
            text = f"{rates} Your use varies too much to say whether this is more than chance."
        case Verdict.NONE:
            alike = "You would not notice this difference."
            other = "A noticeable gain is ruled out."
            text = f"{rates} {alike if _is_alike(result) else other}"
        case _:
            text = rates
    return " ".join(part for part in (text, _times(result)) if part)


def confidence(proof: Proof) -> str:
    """How sure the verdict is, "" where nothing is claimed, or another thing than that."""
    if proof.state != ProofState.READY or proof.verdict == Verdict.UNCLEAR or is_kept(proof):
        return ""
    return f"{int(proof.result['confidence'] * 1000) / 10:.1f} % sure"


def notes(proof: Proof) -> list[str]:
    """What must be known to read the figures."""
    if proof.state != ProofState.READY:
        return []
    result, lines = proof.result, []
    if proof.was_warm is False:
        lines.append(
            "The cache may still have been filling during the measurement, so its effect may "
            "still grow."
        )
    if takes_writes(proof):
        lines.append(
            "This plan caches writes too. Only reads were compared; writes were not judged."
        )
    before, after = result["read_iops_before"], result["read_iops_after"]
    if before and after and not 1 / OTHER_LOAD < after / before < OTHER_LOAD:
        times, word = (after / before, "more") if after > before else (before / after, "less")
        lines.append(
            f"You read {times:.1f} times {word} than before. Latency also depends on load."
        )
    if not result["has_percentiles"]:
        lines.append("Percentiles are not available for this volume, only averages.")
    return lines


def rows(result: Mapping[str, Any]) -> list[ReportRow]:
    """The figures before and after; those that nobody knows are left out."""
    figures = [_row("Reads from SSD", result, "hit_rate", percent)]
    figures.append(_row("Average read time", result, "read_ms", ms))
    if result["has_percentiles"]:
        figures.append(_row("Half of all reads and writes took at most", result, "read_ms_p50", ms))
        figures.append(_row("95 of 100 reads and writes took at most", result, "read_ms_p95", ms))
    figures.append(_row("Reads per second", result, "read_iops", iops))
    return figures


def expected(order: Order) -> str:
    """What was promised before, "" where nothing was."""
    promised = order.expected
    return str(promised.get("text", "")) if promised else ""


def held(order: Order, result: Mapping[str, Any]) -> str:
    """What was measured against the range that was expected: "within", "below", "above"; "" where
    no range was given."""
    low, high = order.expected.get("hit_rate_low"), order.expected.get("hit_rate_high")
    rate = result.get("hit_rate_after")
    if low is None or high is None or rate is None:
        return ""
    return "below" if rate < low else "above" if rate > high else "within"


def _progress(proof: Proof) -> str:
    if proof.state == ProofState.WAITING:
        return (
            "The cache is still warming up. Once its share of reads no longer rises, and at the "
            f"latest on {proof.warm_by:%-d %B, %H:%M} UTC, the measuring begins."
        )
    return (
        f"We are measuring until {proof.after_end:%-d %B, %H:%M} UTC; the report will appear here."
    )


def _times(result: Mapping[str, Any]) -> str:
    before, after = result["read_ms_before"], result["read_ms_after"]
    low, high = result["read_times_low"], result["read_times_high"]
    if before is None or after is None or low is None or high is None:
        return ""
    if high < 1:
        return f"A read took {ms(after)} on average instead of {ms(before)}."
    if low > 1:
        but = "But a" if result["verdict"] == Verdict.GAIN else "A"
        return f"{but} read took longer: {ms(after)} on average instead of {ms(before)}."
    if low > 1 / ABOUT and high < ABOUT:
        return f"A read took about as long as before: {ms(after)} on average, before {ms(before)}."
    return (
        f"A read took {ms(after)} on average, before {ms(before)}. Your use varies too much to say "
        "whether this is more than chance."
    )


def _count(rate: float) -> str:
    """ "40", as the end of a sentence on reads of a hundred."""
    return "none" if rate == 0 else of_hundred(rate).removesuffix(" of 100 reads")


def _row(
    label: str, result: Mapping[str, Any], name: str, unit: Callable[[object], str]
) -> ReportRow:
    before, after = result[f"{name}_before"], result[f"{name}_after"]
    most = max(before or 0, after or 0) if name != "hit_rate" else 1.0
    return ReportRow(
        label,
        "none" if name == "hit_rate" and before == 0 else unit(before),
        "none" if name == "hit_rate" and after == 0 else unit(after),
        _width(before, most),
        _width(after, most),
    )


def _width(value: float | None, most: float) -> str:
    return f"{100 * (value or 0) / most:.1f}" if most else "0"
