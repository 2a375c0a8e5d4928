"""`agent.pyz` without arguments serves stdin; root may also run the commands in USAGE. A systemd
unit runs `boot` before guests start."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial

from .calls.refusals import Refusal
from .guests import hiding
from .operations.boot import boot
from .realhost import RealHost
from .state import admin, owner, policy
from .state.policy import PV_LISTS
from .wire.serve import serve, unreplaced


def _listed_pv(host: RealHost, name: str, list_name: str) -> str:
    return admin.list_pv(host, list_name, name)


OF_HOST: dict[str, Callable[[RealHost], str]] = {
    "policy": admin.show_policy,
    "allow-replacement": partial(admin.set_replacement, allowed=True),
    "deny-replacement": partial(admin.set_replacement, allowed=False),
    "hide-guests": lambda host: hiding.hide_guests(host, policy.load_policy(host)),
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
}
USAGE = (
    "usage: agent.pyz [allow-vg NAME [--alone] | deny-vg NAME | fast-pv PV | slow-pv PV | "
    "redundant-pv PV | forget-pv PV | allow-replacement | deny-replacement | adopt-panel ID | "
    "policy | hide-guests | keep-bcache VG/LV | boot]"
)


def main(arguments: Sequence[str]) -> int:
    host = RealHost()
    if not arguments:
        serve(sys.stdin.buffer, sys.stdout.buffer, host, unreplaced(sys.argv[0]))
        return 0
    command, rest = arguments[0], list(arguments[1:])
    try:
        if command == "boot" and not rest:
            return _boot(host)
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


def _boot(host: RealHost) -> int:
    done, failed = boot(host)
    print("\n".join(done) if done else "Nothing to restore.")
    for line in failed:
        print(line, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
