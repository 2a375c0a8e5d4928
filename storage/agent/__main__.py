"""`agent.pyz` without arguments serves stdin; root may also run the commands in USAGE. systemd
units run `boot` before guests start, and `heat` all the time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from .benchmark import cleanup
from .bytecode import add_bytecode
from .calls.refusals import Refusal
from .guests import hiding
from .heat_command import heat_command
from .operations.boot import boot
from .realhost import RealHost
from .state import admin, initramfs, owner, policy
from .state.policy import PV_LISTS
from .wire.serve import serve, unreplaced


def _listed_pv(host: RealHost, name: str, list_name: str) -> str:
    return admin.list_pv(host, list_name, name)


def _boot(host: RealHost) -> int:
    code = _printed(boot(host), "Nothing to restore.")
    heat_command(["clean-heat"])
    try:
        add_bytecode(host, Path(sys.argv[0]))
    except OSError as error:
        # Guests have their caches, and the agent works: each start compiles it anew.
        print(f"The agent will start slowly: {error}.", file=sys.stderr)
    return code


def _hide_guests(host: RealHost) -> int:
    print(hiding.hide_guests(host, policy.load_policy(host)))
    return _printed(initramfs.renew_initramfs(host))


def _printed(outcome: tuple[list[str], list[str]], nothing: str = "") -> int:
    """Print what was done and what failed, or `nothing` where nothing had to be; the exit code."""
    done, failed = outcome
    if done or (nothing and not failed):
        print("\n".join(done) or nothing)
    for line in failed:
        print(line, file=sys.stderr)
    return 1 if failed else 0


OUTCOMES: dict[str, Callable[[RealHost], int]] = {
    "boot": _boot,
    "hide-guests": _hide_guests,
    "clean-benchmarks": lambda host: _printed(
        cleanup.clean_up(host), "No benchmark left anything."
    ),
    "renew-initramfs": lambda host: _printed(
        initramfs.renew_initramfs(host), "Every initramfs is up to date."
    ),
}
OF_HOST: dict[str, Callable[[RealHost], str]] = {
    "policy": admin.show_policy,
    "allow-replacement": partial(admin.set_replacement, allowed=True),
    "deny-replacement": partial(admin.set_replacement, allowed=False),
    "allow-heat": partial(admin.set_heat, allowed=True),
    "deny-heat": partial(admin.set_heat, allowed=False),
    "allow-benchmarks": admin.allow_benchmarks,
    "deny-benchmarks": admin.deny_benchmarks,
}
OF_NAME: dict[str, Callable[[RealHost, str], str]] = {
    **{
        command: partial(_listed_pv, list_name=list_name) for list_name, command in PV_LISTS.items()
    },
    "allow-vg": admin.allow_vg,
    "deny-vg": admin.deny_vg,
    "forget-pv": admin.forget_pv,
    "adopt-panel": owner.adopt_host,
    "keep-bcache": admin.keep_bcache,
    "allow-benchmarks": admin.allow_benchmarks,
}
USAGE = (
    "usage: agent.pyz [allow-vg NAME [--alone] | deny-vg NAME | fast-pv PV | slow-pv PV | "
    "redundant-pv PV | forget-pv PV | allow-replacement | deny-replacement | allow-heat | "
    "deny-heat | allow-benchmarks [GIB] | deny-benchmarks | adopt-panel ID | policy | hide-guests "
    "| renew-initramfs | keep-bcache VG/LV | clean-benchmarks | boot | heat | clean-heat]"
)


def main(arguments: Sequence[str]) -> int:
    host = RealHost()
    if not arguments:
        serve(sys.stdin.buffer, sys.stdout.buffer, host, unreplaced(sys.argv[0]))
        return 0
    command, rest = arguments[0], list(arguments[1:])
    try:
        if not rest and command in OUTCOMES:
            return OUTCOMES[command](host)
        answer = _change_policy(host, command, rest)
    except (Refusal, ValueError, OSError) as error:
        hint = f"\n{error.correction}" if isinstance(error, Refusal) else ""
        print(f"{error}{hint}", file=sys.stderr)
        return 1
    if answer is None:
        print(USAGE, file=sys.stderr)
        return 2
    print(answer)
    return 0


def _change_policy(host: RealHost, command: str, rest: Sequence[str]) -> str | None:
    """What root is answered; None for a command that there is not."""
    if command == "allow-vg" and list(rest[1:]) == ["--alone"]:
        return admin.allow_vg(host, rest[0], alone=True)
    if len(rest) == 0 and command in OF_HOST:
        return OF_HOST[command](host)
    if len(rest) == 1 and command in OF_NAME:
        return OF_NAME[command](host, rest[0])
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
