"""`agent.pyz` without arguments serves stdin; root may also run the commands in USAGE. A systemd
unit runs `boot` before guests start."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .calls.refusals import Refusal
from .guests import hiding
from .operations.boot import boot
from .realhost import RealHost
from .state import admin, initramfs, owner, policy
from .state.policy import PV_LISTS
from .wire.serve import serve, unreplaced

LISTS = {command: list_name for list_name, command in PV_LISTS.items()}
REPLACEMENT = {"allow-replacement": True, "deny-replacement": False}
USAGE = (
    "usage: agent.pyz [allow-vg NAME [--alone] | deny-vg NAME | fast-pv PV | slow-pv PV | "
    "redundant-pv PV | forget-pv PV | allow-replacement | deny-replacement | adopt-panel ID | "
    "policy | hide-guests | renew-initramfs | keep-bcache VG/LV | boot]"
)


def main(arguments: Sequence[str]) -> int:
    host = RealHost()
    if not arguments:
        serve(sys.stdin.buffer, sys.stdout.buffer, host, unreplaced(sys.argv[0]))
        return 0
    command, rest = arguments[0], list(arguments[1:])
    try:
        if command == "policy" and not rest:
            print(admin.show(host))
        elif command == "allow-vg" and len(rest) == 1:
            print(admin.allow_vg(host, rest[0]))
        elif command == "allow-vg" and len(rest) == 2 and rest[1] == "--alone":
            print(admin.allow_vg(host, rest[0], alone=True))
        elif command in LISTS and len(rest) == 1:
            print(admin.list_pv(host, LISTS[command], rest[0]))
        elif command == "forget-pv" and len(rest) == 1:
            print(admin.forget_pv(host, rest[0]))
        elif command == "deny-vg" and len(rest) == 1:
            print(admin.deny_vg(host, rest[0]))
        elif command in REPLACEMENT and not rest:
            print(admin.set_replacement(host, allowed=REPLACEMENT[command]))
        elif command == "adopt-panel" and len(rest) == 1:
            print(owner.adopt(host, rest[0]))
        elif command == "hide-guests" and not rest:
            print(hiding.hide_guests(host, policy.load(host)))
            return _said(initramfs.renew(host))
        elif command == "renew-initramfs" and not rest:
            return _said(initramfs.renew(host), "Every initramfs is up to date.")
        elif command == "keep-bcache" and len(rest) == 1:
            print(admin.keep_bcache(host, rest[0]))
        elif command == "boot" and not rest:
            return _said(boot(host), "Nothing to restore.")
        else:
            print(USAGE, file=sys.stderr)
            return 2
    except (Refusal, ValueError, OSError) as error:
        hint = f"\n{error.correction}" if isinstance(error, Refusal) else ""
        print(f"{error}{hint}", file=sys.stderr)
        return 1
    return 0


def _said(outcome: tuple[list[str], list[str]], nothing: str = "") -> int:
    """Print what was done (`nothing` where nothing was) and what failed; the exit code."""
    done, failed = outcome
    if done or nothing:
        print("\n".join(done) or nothing)
    for line in failed:
        print(line, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
