"""What is measured: names and colours of targets, and those that a form, the API and the command
line offer by one word each. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from storage.benchmarks.matrix import TargetChoice, TargetKind
from storage.byte_sizes import KIB, MIB

TITLES: Final[Mapping[str, str]] = {
    TargetKind.SSD: "SSD alone",
    TargetKind.HDD: "HDD alone",
    TargetKind.LVMCACHE: "lvmcache",
    TargetKind.BCACHE: "bcache",
}
COLOURS: Final[Mapping[str, str]] = {
    TargetKind.SSD: "green",
    TargetKind.HDD: "orange",
    TargetKind.LVMCACHE: "blue",
    TargetKind.BCACHE: "purple",
}
"""Of their lines in charts."""
USUAL_CUTOFF_KIB: Final = 4 * MIB // KIB
"""As bcache is delivered."""


@dataclass(frozen=True, slots=True)
class TargetPreset:
    """A target with settings, what people call it, and why one would measure it."""

    choice: TargetChoice
    title: str
    about: str


PRESETS: Final[Mapping[str, TargetPreset]] = {
    "ssd": TargetPreset(
        TargetChoice(TargetKind.SSD), "SSD alone", "The most that any cache can reach."
    ),
    "hdd": TargetPreset(
        TargetChoice(TargetKind.HDD), "HDD alone", "What volumes without a cache have."
    ),
    "lvmcache": TargetPreset(
        TargetChoice(TargetKind.LVMCACHE, "writethrough"),
        "lvmcache, writethrough",
        "Reads come from SSD; writes wait for both.",
    ),
    "lvmcache-writeback": TargetPreset(
        TargetChoice(TargetKind.LVMCACHE, "writeback"),
        "lvmcache, writeback",
        "Writes complete on SSD and reach the HDD later.",
    ),
    "bcache": TargetPreset(
        TargetChoice(TargetKind.BCACHE, "writethrough", sequential_cutoff_kib=USUAL_CUTOFF_KIB),
        "bcache, cutoff 4 MiB",
        "The default: I/O that looks sequential bypasses the SSD.",
    ),
    "bcache-no-cutoff": TargetPreset(
        TargetChoice(TargetKind.BCACHE, "writethrough"),
        "bcache, no cutoff",
        "Everything goes through the SSD.",
    ),
    "bcache-writeback": TargetPreset(
        TargetChoice(TargetKind.BCACHE, "writeback"),
        "bcache, writeback, no cutoff",
        "Writes complete on SSD and reach the HDD later.",
    ),
    "bcache-writearound": TargetPreset(
        TargetChoice(TargetKind.BCACHE, "writearound"),
        "bcache, writearound, no cutoff",
        "Writes bypass the SSD; only data that is read again is cached.",
    ),
}
EVENING: Final = ("ssd", "hdd", "bcache", "bcache-no-cutoff", "lvmcache")
"""Those of the published comparison."""
GATED: Final = ("ssd", "hdd", "lvmcache")
"""Those that a kernel gate measures where nothing else is chosen."""
