"""Minimum versions of the programs that the agent uses, and the versions that were tested.
docs/operators.md has the same table for people."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..calls.refusals import Problem, Refusal, problem
from ..kernel.dm import text
from ..kernel.local_host import LocalHost, MissingTool, TimedOut

Version = tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """`least` is the oldest that may be used, because `lacks` is true of every older one; () where
    every one may. `tried`
    are the versions on which the whole contract suite has run, as far as they tell releases
    apart: Debian 11, 12 and 13."""

    title: str
    least: Version
    lacks: str
    tried: tuple[Version, ...]


@dataclass(frozen=True)
class Feature:
    """What a program can do since a version that is later than its least."""

    program: str
    since: Version
    lacks: str


PROGRAMS: Mapping[str, Program] = {
    # Which kernels have which faults the panel knows (storage/planner/kernel_faults.py).
    "kernel": Program("Kernel", (), "", ((5, 10), (6, 1), (6, 12))),
    "lvm": Program(
        "LVM",
        (2, 3),
        "its reports may come from the cache of lvmetad instead of the disks",
        ((2, 3, 11), (2, 3, 16), (2, 3, 31)),
    ),
    "systemd": Program(
        "systemd",
        (236,),
        "it cannot collect the scopes of operations that failed",
        ((247,), (252,), (257,)),
    ),
    "util_linux": Program(
        "util-linux",
        (2, 32),
        "its wipefs cannot say in JSON what is on a device",
        ((2, 36), (2, 38), (2, 41)),
    ),
    "python": Program(
        "Python", (3, 9), "the agent is not written for it", ((3, 9), (3, 11), (3, 13))
    ),
}
FEATURES: Mapping[str, Feature] = {
    "extend_cached": Feature(
        "lvm", (2, 3, 12), "it cannot extend a volume while an LVM cache is attached"
    ),
}
_COMMANDS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "lvm": (("lvm", "version"), r"LVM version:\s+([0-9.]+)"),
    "systemd": (("systemctl", "--version"), r"^systemd ([0-9]+)"),
    "util_linux": (("lsblk", "--version"), r"util-linux ([0-9.]+)"),
}


def read_version(host: LocalHost, program: str) -> str:
    """What a program calls itself, "" where it does not say or is not there. Raises TimedOut."""
    if program == "kernel":
        return text(host, "/proc/sys/kernel/osrelease")
    if program == "python":
        return platform.python_version()
    argv, pattern = _COMMANDS[program]
    try:
        match = re.search(pattern, host.run(argv, timeout=10.0).stdout)
    except MissingTool:
        return ""
    return match.group(1) if match else ""


PACKAGE_QUERIES = (
    ("dpkg-query", "-W", "-f", "${Version}"),
    ("rpm", "-q", "--qf", "%{VERSION}-%{RELEASE}"),
)


def package(host: LocalHost, name: str) -> str:
    """The version of a package whose programs do not say theirs; "" where it is not installed, or
    no package manager answers."""
    for query in PACKAGE_QUERIES:
        try:
            result = host.run((*query, name), timeout=10.0)
        except MissingTool:
            continue
        except TimedOut:
            return ""
        return result.stdout.strip() if result.rc == 0 else ""
    return ""


_FIO = re.compile(r"fio-([0-9][0-9A-Za-z.+-]{0,30})")


def fio(host: LocalHost) -> str:
    """ "3.33"; "" where fio is not installed, or does not answer."""
    try:
        match = _FIO.search(host.run(("fio", "--version"), timeout=10.0).stdout)
    except (MissingTool, TimedOut):
        return ""
    return match.group(1) if match else ""


def every(host: LocalHost) -> Mapping[str, str]:
    """All of PROGRAMS; "" also where one does not answer."""
    versions = {}
    for program in PROGRAMS:
        try:
            versions[program] = read_version(host, program)
        except TimedOut:
            versions[program] = ""
    return versions


def parse_version(version: str) -> Version:
    """ "2.03.16" -> (2, 3, 16), "6.1.0-37-amd64" -> (6, 1, 0); () where there is no number."""
    match = re.match(r"\d{1,9}(\.\d{1,9})*", version)
    return () if match is None else tuple(int(part) for part in match.group().split("."))


def obstacle(program: str, version: str) -> str | None:
    """Why this version may not be used; None where it may. Unknown is too old."""
    known, parsed = PROGRAMS[program], parse_version(version)
    if not parsed:
        return f"{known.title} does not say its version."
    if parsed < known.least:
        return f"{known.title} {version} is older than {_dotted(known.least)}: {known.lacks}."
    return None


def missing_feature(feature: str, version: str) -> str | None:
    """Why this version of the feature's program lacks it; None where it does not. Unknown lacks
    it."""
    known = FEATURES[feature]
    title, parsed = PROGRAMS[known.program].title, parse_version(version)
    if not parsed:
        return (
            f"The host does not say which {title} it has: before {_dotted(known.since)} "
            f"{known.lacks}."
        )
    if parsed < known.since:
        return f"{title} {version} is older than {_dotted(known.since)}: {known.lacks}."
    return None


def check_versions(host: LocalHost, programs: Iterable[str]) -> None:
    """Raises Refusal(unsupported) unless each may be used, (timeout) where one does not answer."""
    for program in programs:
        try:
            version = read_version(host, program)
        except TimedOut:
            raise Refusal(
                "timeout",
                f"{PROGRAMS[program].title} did not say its version in time.",
                "The host may be busy: try again in a moment.",
            ) from None
        reason = obstacle(program, version)
        if reason is not None:
            raise Refusal("unsupported", reason, _upgrade(program))


def version_problems(versions: Mapping[str, str]) -> Iterable[Problem]:
    """What is too old, and what is untested. A missing program is no problem here: other problems
    report it."""
    present = {program: version for program, version in versions.items() if version}
    for program, version in present.items():
        reason = obstacle(program, version)
        if reason is not None:
            yield problem(f"{program}_old", "error", reason, _upgrade(program))
    untried = [
        f"{PROGRAMS[program].title} {version}"
        for program, version in present.items()
        if obstacle(program, version) is None and not _is_tried(program, version)
    ]
    if untried:
        yield problem(
            "untried_versions",
            "info",
            f"Untried with this agent: {', '.join(untried)}.",
            "It may well work. Try every operation on a volume without data first; "
            "docs/operators.md lists what has been tried.",
        )


def _is_tried(program: str, version: str) -> bool:
    parsed = parse_version(version)
    return any(parsed[: len(tried)] == tried for tried in PROGRAMS[program].tried)


def _dotted(version: Version) -> str:
    """As LVM and Debian write it: (2, 3, 12) -> "2.03.12"."""
    if version[:2] == (2, 3):
        return ".".join(("2.03", *(f"{part:02}" for part in version[2:])))
    return ".".join(str(part) for part in version)


def _upgrade(program: str) -> str:
    return (
        f"Upgrade {PROGRAMS[program].title.lower()} on the host; that of any supported release of "
        "a distribution is new enough."
    )
