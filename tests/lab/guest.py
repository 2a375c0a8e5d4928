"""A paused virtual machine inside the lab that holds a volume open, as a customer's does."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tests.lab.vm import Lab

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")

# -S: the processor never runs, so the guest costs no time; the disk is open all the same.
START = """
set -eu
systemctl reset-failed --quiet guest-{name}.service 2>/dev/null || true
systemd-run --quiet --unit=guest-{name} --service-type=exec -- \
    qemu-system-x86_64 -S -name {name} -nodefaults -no-user-config -display none \
    -machine pc,accel=tcg -m 32 \
    -drive file={device},format=raw,if=none,id=disk0,cache=none,aio=native,discard=unmap \
    -device virtio-blk-pci,drive=disk0 \
    -qmp unix:/run/guest-{name}.qmp,server=on,wait=off
pid=$(systemctl show --property=MainPID --value guest-{name}.service)
real=$(realpath {device})
for _ in $(seq 100); do
    for file in /proc/$pid/fd/*; do
        if [ "$(readlink $file)" = "$real" ]; then echo $pid; exit 0; fi
    done
    sleep 0.1
done
echo "guest-{name} does not hold $real" >&2
exit 1
"""


@dataclass(frozen=True, slots=True)
class Guest:
    """A running guest: `name` is what `qemu -name` says, `pid` its process in the lab."""

    lab: Lab
    name: str
    pid: int

    def stop(self) -> None:
        """End the guest; the volume is free when this returns."""
        self.lab.run(["systemctl", "stop", f"guest-{self.name}.service"])


def start(lab: Lab, name: str, device: str) -> Guest:
    """Start a paused guest `name` on `device` (a path in the lab); returns when it holds it open.

    Raises LabCommandFailed when the device cannot be opened.
    """
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no guest name")
    done = lab.run(START.replace("{name}", name).replace("{device}", device))
    return Guest(lab, name, int(done.stdout))


SEES = """
import json, socket
channel = socket.socket(socket.AF_UNIX)
channel.connect("/run/guest-{name}.qmp")
lines = channel.makefile("rw")
lines.readline()
for command in ("qmp_capabilities", "query-block"):
    lines.write(json.dumps({"execute": command}) + "\\n")
    lines.flush()
    answer = json.loads(lines.readline())
print(answer["return"][0]["inserted"]["image"]["virtual-size"])
"""


def sees(lab: Lab, name: str) -> int:
    """The size in bytes of a guest's disk, as its QEMU has it."""
    done = lab.run(["python3", "-c", SEES.replace("{name}", name)])
    return int(done.stdout)


DOES = """
import json, socket, sys
channel = socket.socket(socket.AF_UNIX)
channel.connect("/run/guest-{name}.qmp")
lines = channel.makefile("rw")
lines.readline()

def ask(command, **arguments):
    lines.write(json.dumps({"execute": command, "arguments": arguments}) + "\\n")
    lines.flush()
    while True:
        answer = json.loads(lines.readline())
        if "event" not in answer:
            return answer["return"]

ask("qmp_capabilities")
for words in json.load(sys.stdin):
    said = ask("human-monitor-command", **{"command-line": f'qemu-io disk0 "{words}"'})
    if "failed" in said or "rror" in said:
        sys.exit(f"{words}: {said}")
"""


def does(lab: Lab, name: str, commands: Sequence[str], *, timeout_seconds: float = 600) -> None:
    """What the guest's disk is asked for, in the words of qemu-io ("discard 0 64M"): QEMU passes it
    on as it does for a driver in the guest."""
    program = ["python3", "-I", "-c", DOES.replace("{name}", name)]
    lab.run(program, stdin=json.dumps(list(commands)), timeout_seconds=timeout_seconds)
