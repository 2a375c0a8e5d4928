"""Where Debian packages come from: whatever apt on this machine uses."""

import re
import subprocess

TARGET_FORMAT = "$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)"
KEPT_OPTION = re.compile(
    r"^Acquire::(https?::(?!.*\bAuto)|Check-Valid-Until|Check-Date|Retries|ForceIPv4)[^\n]*;$",
    re.IGNORECASE,
)


def source_lines(targets: str, suite: str) -> list[str]:
    """Return the `deb` lines for `suite`, taken from apt's index targets; [] when none is Debian's.

    `targets` holds one `uri|release|component|origin` a line, as apt-get indextargets prints with
    TARGET_FORMAT. The machine may run a later Debian release than the lab: only the addresses are
    taken, the release is always `suite`.
    """
    archives: dict[str, str] = {}
    for line in targets.splitlines():
        uri, release, component, origin = line.split("|")
        if origin != "Debian" or component != "main":
            continue
        if release.endswith("-security"):
            archives.setdefault(f"{suite}-security", uri)
        elif "-" not in release:
            archives.setdefault(suite, uri)
            archives.setdefault(f"{suite}-updates", uri)
    if suite not in archives:
        return []
    return [f"deb {uri} {release} main" for release, uri in sorted(archives.items())]


def options(dump: str) -> list[str]:
    """Return the lines of `apt-config dump` that say how to fetch: proxies, certificates, dates."""
    return [line for line in dump.splitlines() if KEPT_OPTION.match(line) and '""' not in line]


def read_source_lines(suite: str) -> list[str]:
    """Ask apt on this machine for its Debian addresses; [] means mmdebstrap's own default."""
    targets = subprocess.run(
        ["apt-get", "indextargets", "--format", TARGET_FORMAT, "Created-By: Packages"],
        capture_output=True,
        text=True,
        check=True,
    )
    return source_lines(targets.stdout, suite)


def read_options() -> list[str]:
    """Ask apt on this machine how it fetches."""
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True)
    return options(dump.stdout)
