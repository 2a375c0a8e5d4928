"""Whether a volume is fast now: a word, which is that of the customer's page and of the colours of
maps, and a figure. Pure."""

from __future__ import annotations

from panel.templatetags.chips import Chip
from storage.formatting import ms
from storage.metrics.rates.figures import MIN_ACCESSES
from storage.models.host import FAST_READ_MS
from storage.volumes.snapshot import VolumeSnapshot


def speed_answer(row: VolumeSnapshot) -> Chip:
    """What is not known is neither fast nor slow. The judge says what is slow, not one sample."""
    latest = row.latest
    if latest is None or row.is_stale:
        return Chip("quiet", "wait", "not known: no new figures")
    reads = (latest.read_iops or 0) * latest.seconds
    took = f"a read takes {ms(latest.read_ms)}"
    if row.is_slow:
        said = "slow" if latest.read_ms is None else f"slow, {took}"
        return Chip("warning", "warning", said)
    if latest.read_ms is None or reads < MIN_ACCESSES:
        return Chip("quiet", "info", "too few reads to tell")
    if latest.read_ms >= FAST_READ_MS:
        return Chip("quiet", "info", f"medium, {took}")
    return Chip("ok", "ok", f"fast, {took}")
