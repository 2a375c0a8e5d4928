"""`python -m tests.lab build | boot | ssh [command] | stop`: the lab from a terminal."""

import argparse
import os
import shlex
import signal
import sys
from pathlib import Path
from types import FrameType

from tests.lab import image, state, vm
from tests.lab.packages import LabUnavailable
from tests.lab.shell import LabCommandFailed, Shell


def main() -> int:
    """Run one command; what the lab refuses becomes a message and status 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab")
    parser.add_argument("--name", default=state.default_name(), help="one lab per name")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build", help="make the image, if this recipe has none yet")
    commands.add_parser("boot", help="boot a lab and keep it until Ctrl-C")
    commands.add_parser("stop", help="stop the running lab")
    ssh = commands.add_parser("ssh", help="open root's shell in the running lab, or run a command")
    ssh.add_argument("argv", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    try:
        match given.command:
            case "build":
                print(image.ensure(print).root)
            case "boot":
                boot(given.name)
            case "stop":
                print("Stopped." if vm.stop(given.name) else f"No lab called {given.name!r} runs.")
            case "ssh":
                enter(given.name, given.argv)
    except (LabUnavailable, LabCommandFailed) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def boot(name: str) -> None:
    """Boot, print how to reach the lab, and keep it until Ctrl-C, SIGTERM or `stop`."""
    signal.signal(signal.SIGTERM, _interrupt)
    with vm.Lab(name, say=print) as lab:
        print(
            f"The lab {name!r} is up ({lab.boot_seconds:.0f} s): vg0 over /dev/md0 (SSD), "
            "/dev/sdc and /dev/sdd (HDD).\n"
            f"  root's shell:     make lab-ssh   or   {shlex.join(lab.shell.argv())}\n"
            f"  SSH port:         127.0.0.1:{lab.ssh_port}\n"
            f"  root's key:       {lab.keys.client}\n"
            f"  host key:         {lab.keys.host_fingerprint}\n"
            f"  console:          {lab.folder / 'console.log'}\n"
            f"  from inside, this machine's loopback is {lab.panel_address}\n"
            "Ctrl-C stops it.",
            flush=True,
        )
        lab.wait()


def enter(name: str, argv: list[str]) -> None:
    """Replace this process by ssh to the running lab."""
    running = state.read(name)
    if running is None:
        raise LabUnavailable(f"No lab called {name!r} runs. Start it with: make lab")
    shell = Shell(running.ssh_port, state.keys_of(name), Path(running.control))
    # One word may be a whole script, as ssh itself takes it; several are an argv.
    script = argv if len(argv) < 2 else [shlex.join(argv)]
    command = [*shell.argv(), *script]
    os.execv(command[0], command)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
