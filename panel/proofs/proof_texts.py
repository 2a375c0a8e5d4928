"""The texts of a proof: the verdict first, then the figures. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as marked

from panel.languages.local_times import plain_time, time_tag
from panel.models import Intent, Order, Proof, ProofState
from panel.orders.order_texts import StateChip
from storage.analysis.before_after import Verdict
from storage.analysis.forecast.words import capital, share, shares
from storage.formatting import iops, ms, percent
from storage.language import figure
from storage.metrics.compare import CLOSE, notable

OTHER_LOAD: Final = 1.5
"""From this factor on the use before and after is called different."""
HEADLINES: Final = {
    Verdict.GAIN: marked("It helped"),
    Verdict.LOSS: marked("Fewer reads come from SSD than before"),
    Verdict.NONE: marked("No gain seen"),
    Verdict.UNCLEAR: marked("Not enough data"),
}
CHIPS: Final = {
    Verdict.GAIN: StateChip("ok", "ok", marked("gain")),
    Verdict.LOSS: StateChip("warning", "warning", marked("loss")),
    Verdict.NONE: StateChip("quiet", "info", marked("no gain")),
    Verdict.UNCLEAR: StateChip("quiet", "wait", marked("unclear")),
}
SLOWER: Final = StateChip("warning", "warning", marked("gain, but slower"))
KEPT: Final = StateChip("ok", "ok", marked("no loss"))
READ_TIMES: Final = (
    marked("A read took {after} on average instead of {before}."),
    marked("A read took longer: {after} on average instead of {before}."),
    marked("But a read took longer: {after} on average instead of {before}."),
    marked("A read took about as long as before: {after} on average, before {before}."),
    marked(
        "A read took {after} on average, before {before}. Your use varies too much "
        "to say whether this is more than chance."
    ),
)
"""Shorter, longer, longer though something was won, alike, unclear."""
WRITE_TIMES: Final = (
    marked("A write took {after} on average instead of {before}."),
    marked("A write took longer: {after} on average instead of {before}."),
    marked("But a write took longer: {after} on average instead of {before}."),
    marked("A write took about as long as before: {after} on average, before {before}."),
    marked(
        "A write took {after} on average, before {before}. Your use varies too much "
        "to say whether this is more than chance."
    ),
)


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
    return Brief(headline(proof), verdict(proof, time_tag), confidence(proof), chip(proof))


def chip(proof: Proof) -> StateChip:
    """The proof in a word, for lists."""
    if proof.state == ProofState.READY:
        shown = KEPT if is_kept(proof) else CHIPS[Verdict(proof.verdict)]
        shown = SLOWER if gain_costs_speed(proof) else shown
        return replace(shown, text=gettext(shown.text))
    if proof.state == ProofState.IMPOSSIBLE:
        return StateChip("quiet", "cut", gettext("not measurable"))
    is_warming = proof.state == ProofState.WAITING
    return StateChip("busy", "run", gettext("warming up") if is_warming else gettext("measuring"))


def headline(proof: Proof) -> str:
    """The verdict in a few words."""
    if proof.state == ProofState.READY:
        return _headline(proof)
    if proof.state == ProofState.IMPOSSIBLE:
        return gettext("The effect could not be measured")
    return gettext("The report is being prepared")


def _headline(proof: Proof) -> str:
    result = proof.result
    of_reads, of_writes = reads_verdict(result), _writes_verdict(result)
    match Verdict(proof.verdict):
        case Verdict.GAIN if of_reads != Verdict.GAIN:
            if _is_read_slower(result):
                return gettext("Writes are faster, but a read takes longer")
            if of_reads == Verdict.LOSS:
                return gettext("Writes are faster, but fewer reads come from SSD")
        case Verdict.GAIN if _is_read_slower(result):
            return gettext("More reads come from SSD, but a read takes longer")
        case Verdict.GAIN if of_writes == Verdict.LOSS:
            return gettext("More reads come from SSD, but a write takes longer")
        case Verdict.LOSS if of_reads != Verdict.LOSS:
            if of_writes == Verdict.LOSS:
                return gettext("Writes take longer than before")
            return gettext("Reads take longer than before")
        case Verdict.NONE if is_kept(proof):
            return gettext("No loss seen")
        case Verdict.NONE if takes_writes(proof) and not are_writes_judged(proof):
            return gettext("No gain seen for reads")
    return gettext(HEADLINES[Verdict(proof.verdict)])


def gain_costs_speed(proof: Proof) -> bool:
    """Whether there is a gain, and yet a read surely takes longer, or a write notably longer: no
    customer would call that help."""
    is_slower = _is_read_slower(proof.result) or _writes_verdict(proof.result) == Verdict.LOSS
    return proof.verdict == Verdict.GAIN and is_slower


def _is_read_slower(result: Mapping[str, Any]) -> bool:
    least = result.get("read_times_low")
    return least is not None and least > 1


def reads_verdict(result: Mapping[str, Any]) -> Verdict | None:
    """The verdict on reads alone, None where there were too few. Results from before writes were
    judged have that one only."""
    verdict = result.get("reads_verdict", result.get("verdict"))
    return Verdict(verdict) if verdict else None


def _writes_verdict(result: Mapping[str, Any]) -> Verdict | None:
    writes = result.get("writes")
    return Verdict(writes["verdict"]) if writes else None


def are_writes_judged(proof: Proof) -> bool:
    """Whether the verdict is on writes too."""
    writes = proof.result.get("writes")
    return bool(writes and writes["counted"])


def takes_writes(proof: Proof) -> bool:
    """Whether the plan was sold for faster writes too: what reads gain is not all then."""
    plan = proof.order.to_plan
    return plan is not None and plan.mode == "writeback"


def is_kept(proof: Proof) -> bool:
    """Whether a cheaper plan does as well: what its customer hoped for."""
    if proof.verdict != Verdict.NONE or proof.order.intent != Intent.DOWNGRADE:
        return False
    result, writes = proof.result, proof.result.get("writes")
    return _are_reads_alike(result) and (not writes or writes["times_high"] < CLOSE)


def _are_reads_alike(result: Mapping[str, Any]) -> bool:
    """Whether a notable loss is ruled out too, not only a gain."""
    if reads_verdict(result) is None:
        return True
    return bool(result["hit_rate_change_low"] > -notable(result["hit_rate_before"]))


def verdict(proof: Proof, when: Callable[[datetime], str] = plain_time) -> str:
    """The verdict in two or three sentences; `when` writes a moment, as text or for a page."""
    if proof.state == ProofState.IMPOSSIBLE:
        return gettext(proof.reason) if proof.reason else ""
    if proof.state != ProofState.READY:
        return _progress(proof, when)
    result, is_gain = proof.result, proof.verdict == Verdict.GAIN
    parts = []
    if reads_verdict(result) is not None:
        parts = [_rates(result), _times(READ_TIMES, result, "read_", is_gain=is_gain)]
    writes = result.get("writes")
    if writes and (writes["counted"] or writes["verdict"] == Verdict.LOSS):
        parts.append(_times(WRITE_TIMES, writes, "", is_gain=is_gain))
    return " ".join(part for part in parts if part)


def _rates(result: Mapping[str, Any]) -> str:
    """Where the reads came from."""
    after, before = result["hit_rate_after"], result["hit_rate_before"]
    rates = gettext("{after} came from SSD (before: {before}).").format(
        after=capital(share_of_reads(after)), before=share(before) if before else gettext("none")
    )
    match reads_verdict(result):
        case Verdict.UNCLEAR:
            return gettext(
                "{rates} Your use varies too much to say whether this is more than chance."
            ).format(rates=rates)
        case Verdict.NONE:
            alike = gettext("You would not notice this difference.")
            other = gettext("A noticeable gain is ruled out.")
            return f"{rates} {alike if _are_reads_alike(result) else other}"
    return rates


def confidence(proof: Proof) -> str:
    """How sure the verdict is, "" where nothing is claimed, or another thing than that."""
    if proof.state != ProofState.READY or proof.verdict == Verdict.UNCLEAR or is_kept(proof):
        return ""
    return gettext("{percent} % sure").format(
        percent=figure(f"{int(proof.result['confidence'] * 1000) / 10:.1f}")
    )


def notes(proof: Proof) -> list[str]:
    """What must be known to read the figures."""
    if proof.state != ProofState.READY:
        return []
    result, lines = proof.result, []
    if proof.was_warm is False:
        lines.append(
            gettext(
                "The cache may still have been filling during the measurement, so its "
                "effect may still grow."
            )
        )
    if takes_writes(proof) and not are_writes_judged(proof):
        lines.append(
            gettext(
                "This plan caches writes too. Only reads were compared; writes were not judged."
            )
        )
    if reads_verdict(result) is None:
        lines.append(gettext("There were too few reads to compare: only writes were judged."))
    if result.get("is_weighed"):
        lines.append(
            gettext(
                "Reads and writes changed in opposite directions. Each counts by the time that "
                "you waited for it before."
            )
        )
    before, after = result["read_iops_before"], result["read_iops_after"]
    if before and after and not 1 / OTHER_LOAD < after / before < OTHER_LOAD:
        more = gettext("You read {times} times more than before. Latency also depends on load.")
        less = gettext("You read {times} times less than before. Latency also depends on load.")
        times = max(after / before, before / after)
        text = more if after > before else less
        lines.append(text.format(times=figure(f"{times:.1f}")))
    if not result["has_percentiles"]:
        lines.append(gettext("Percentiles are not available for this volume, only averages."))
    return lines


def rows(result: Mapping[str, Any]) -> list[ReportRow]:
    """The figures before and after; unknown ones are left out."""
    writes, figures = result.get("writes"), list[ReportRow]()
    if reads_verdict(result) is not None:
        figures.append(_row(gettext("Reads from SSD"), result, "hit_rate", percent))
        figures.append(_row(gettext("Average read time"), result, "read_ms", ms))
    if writes:
        figures.append(_row(gettext("Average write time"), writes, "ms", ms))
    if result["has_percentiles"]:
        figures.append(_row(gettext("Median"), result, "read_ms_p50", ms))
        figures.append(_row(gettext("95th percentile"), result, "read_ms_p95", ms))
    # An earlier version did not measure it.
    if result["has_percentiles"] and "read_ms_p99_before" in result:
        figures.append(_row(gettext("99th percentile"), result, "read_ms_p99", ms))
    figures.append(_row(gettext("Reads per second"), result, "read_iops", iops))
    if writes:
        figures.append(_row(gettext("Writes per second"), writes, "iops", iops))
    return figures


def expected(order: Order) -> str:
    """What was forecast before the order, "" where nothing was."""
    low, high = order.expected.get("hit_rate_low"), order.expected.get("hit_rate_high")
    if low is not None and high is not None:
        return gettext("We expected {shares} of your reads from SSD.").format(
            shares=shares(low, high)
        )
    match order.expected.get("kind"):
        case "no_help":
            return gettext("We expected no noticeable gain.")
        case "unknown":
            return gettext("No forecast was possible before the order.")
    return ""


def held(order: Order, result: Mapping[str, Any]) -> str:
    """What was measured against the range that was expected, in whole points as both are shown:
    "within", "below", "above"; "" where no range was given."""
    low, high = order.expected.get("hit_rate_low"), order.expected.get("hit_rate_high")
    rate = result.get("hit_rate_after")
    if low is None or high is None or rate is None:
        return ""
    lowest, highest, measured = (int(each * 100 + 1e-9) for each in (low, high, rate))
    return "below" if measured < lowest else "above" if measured > highest else "within"


def _progress(proof: Proof, when: Callable[[datetime], str]) -> str:
    if proof.state == ProofState.WAITING:
        text = gettext(
            "The cache is still warming up. Measuring begins once its share of reads and its fill "
            "have stopped growing, on {warm_by} at the latest."
        )
        return format_html(text, warm_by=when(proof.warm_by))
    text = gettext("We are measuring until {after_end}; the report will appear here.")
    return format_html(text, after_end=when(proof.after_end) if proof.after_end else "-")


def _times(texts: Sequence[str], figures: Mapping[str, Any], name: str, *, is_gain: bool) -> str:
    """How long one took, in one of the `texts`; the names of its figures begin with `name`."""
    before, after = figures[f"{name}ms_before"], figures[f"{name}ms_after"]
    low, high = figures[f"{name}times_low"], figures[f"{name}times_high"]
    if before is None or after is None or low is None or high is None:
        return ""
    shorter, longer, but_longer, alike, unclear = texts
    if high < 1:
        text = shorter
    elif low > 1:
        text = but_longer if is_gain else longer
    else:
        text = alike if low > 1 / CLOSE and high < CLOSE else unclear
    return gettext(text).format(after=ms(after), before=ms(before))


def _row(
    label: str, result: Mapping[str, Any], name: str, unit: Callable[[object], str]
) -> ReportRow:
    before, after = result[f"{name}_before"], result[f"{name}_after"]
    most = max(before or 0, after or 0) if name != "hit_rate" else 1.0
    return ReportRow(
        label,
        gettext("none") if name == "hit_rate" and before == 0 else unit(before),
        gettext("none") if name == "hit_rate" and after == 0 else unit(after),
        _width(before, most),
        _width(after, most),
    )


def _width(value: float | None, most: float) -> str:
    return f"{100 * (value or 0) / most:.1f}" if most else "0"


def share_of_reads(rate: float) -> str:
    """A share of reads in words: "96 % of reads"."""
    return gettext("{share} of reads").format(share=share(rate))
