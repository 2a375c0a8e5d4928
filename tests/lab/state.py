"""What a running lab leaves in var/lab/<name>/ so that another process can reach or stop it."""

import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.lab.keys import Keys
from tests.lab.packages import LabUnavailable

CHECKOUT = Path(__file__).parents[2]
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")


@dataclass(frozen=True, slots=True)
class State:
    """The contents of state.json; `qemu_started` guards against a pid that was used again."""

    name: str
    qemu_pid: int
    qemu_started: int
    ssh_port: int
    control: str


def default_name() -> str:
    """Return TIERCEL_LAB_NAME, else `lab`; the state lies in the checkout, so two never collide."""
    return os.environ.get("TIERCEL_LAB_NAME") or "lab"


def folder_of(name: str) -> Path:
    """Return the state folder of the lab called `name`."""
    if not NAME.fullmatch(name):
        raise LabUnavailable(
            f"{name!r} is no lab name; use lower-case letters, digits and hyphens."
        )
    return CHECKOUT / "var" / "lab" / name


def keys_of(name: str) -> Keys:
    """Return where the keys of the lab called `name` lie."""
    folder = folder_of(name)
    return Keys(folder / "id_ed25519", folder / "host_ed25519", folder / "known_hosts")


def write(state: State) -> None:
    """Record a running lab."""
    (folder_of(state.name) / "state.json").write_text(json.dumps(asdict(state), indent=1) + "\n")


def read(name: str) -> State | None:
    """Return the record of a lab that is running now, else None."""
    file = folder_of(name) / "state.json"
    if not file.exists():
        return None
    state = State(**json.loads(file.read_text()))
    return state if started(state.qemu_pid) == state.qemu_started else None


def forget(name: str) -> None:
    """Remove the record."""
    (folder_of(name) / "state.json").unlink(missing_ok=True)


def started(pid: int) -> int | None:
    """Return when process `pid` began, in clock ticks since boot; None when there is none.

    Source: proc(5), field 22 of /proc/pid/stat, counted after the last `)` of the command name.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(stat.rpartition(")")[2].split()[19])
