"""The lab host of the suite, enrolled in the panel: reset before each fault, and if that does not
help, restarted."""

from __future__ import annotations

import base64
import json
import subprocess
from collections import Counter
from dataclasses import dataclass
from typing import Any

from jobs.hosts import enrolment
from jobs.hosts.refresh import refresh
from jobs.hosts.trust import accept_fingerprint, key_fingerprint
from storage.agent.operations import ops
from storage.inventory.facts import HostFacts, decode
from storage.models import Host
from storage.models.host import HostState
from tests.contract.lab_world import LabWorld
from tests.faults.host import Accepted, Ran
from tests.faults.lab.layers import HDD, OTHER_HDD, SSD, Layers
from tests.lab.shell import LabCommandFailed
from tests.lab.vm import Lab

NAME = "lab"
INVENTORY = b'{"v":1,"id":"00000000-0000-4000-8000-000000000000","verb":"inventory"}\n'
KEYS = "/var/lib/tiercel-account/.ssh/authorized_keys"
# One key more, with exactly what the first one may do.
ADMIT = """
set -eu
line=$(head -n 1 {keys})
printf '%s\\n%s %s\\n' "$line" "${{line%% ssh-ed25519 *}}" {key} > {keys}
sync
"""
JOURNAL = "cd /var/lib/tiercel/ops && for each in *.json; do base64 -w0 $each; echo; done"


@dataclass(frozen=True)
class Journal:
    """What the agent wrote down, as the invariants look at it."""

    accepted: tuple[Accepted, ...]
    ran: tuple[Ran, ...]
    starts: Counter[str]
    gaps: tuple[str, ...] = ()


class Site:
    """One lab of the suite, `open` once it has booted. Used by one thread. `hdd` and `ssd` are the
    physical volumes that strangers lie on."""

    host: Host
    world: LabWorld
    hdd, ssd = f"mapper/{HDD}", f"mapper/{SSD}"

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.layers = Layers(lab)

    def open(self) -> None:
        """Make the disks and the layers, install the agent, enrol."""
        self.layers.make()
        self.world = LabWorld(self.lab)
        self.world.install()
        self.world.slow = (self.hdd, f"mapper/{OTHER_HDD}")
        self.host = self._enrol()

    def close(self) -> None:
        self.world.close()

    def reset(self) -> None:
        """Sound disks and an empty vg0, whatever the last fault left."""
        self.world.hang_up()
        if not self._is_swept():
            if not self.layers.remake():
                self.restart()
                if not self.layers.remake():
                    raise AssertionError("the lab's disks cannot be made anew")
            self._forget()
        self._make_ready()

    def _make_ready(self) -> None:
        self.world.allow(["vg0"], undo_hours=0)
        Host.objects.filter(pk=self.host.pk).update(state=HostState.ACTIVE, error={})
        self.host.refresh_from_db()

    def restart(self) -> None:
        """A power cut; returns when root can log in again."""
        self.world.hang_up()
        self.lab.power_cycle()

    def refresh(self) -> bool:
        """Have the panel read the host now."""
        self.host.refresh_from_db()
        refreshed = refresh(self.host)
        self.host.refresh_from_db()
        return refreshed

    def facts(self) -> HostFacts:
        """What is on the host now, without the panel in between."""
        reply = json.loads(self.world.answer(INVENTORY))
        assert reply["ok"], reply["error"]
        return decode(reply["data"])

    def journal(self) -> Journal:
        """Every operation the agent has a record of, once none is at work."""
        self.lab.run(
            "for try in $(seq 300); do systemctl is-active -q 'tiercel-op-*.scope' || exit 0; "
            "sleep 0.2; done; exit 1"
        )
        lines = self.lab.run(JOURNAL, check=False).stdout.split()
        records = sorted(
            (json.loads(base64.b64decode(line)) for line in lines),
            key=lambda r: int(r["started_ns"]),
        )
        records = [each for each in records if each["call"]["verb"] != ops.TOMBSTONE]
        return Journal(
            tuple(_accepted(record) for record in records),
            tuple(ran for record in records for ran in _ran(record)),
            Counter(),
        )

    def executed(self) -> str:
        """Every command of the agent's operations, as a text to look into."""
        return "\n".join(" ".join(ran.argv) for ran in self.journal().ran)

    def _is_swept(self) -> bool:
        try:
            self.layers.sweep_out()
            self.world.reset()
        except (LabCommandFailed, subprocess.TimeoutExpired):
            return False
        return self.layers.are_sound()

    def _forget(self) -> None:
        """The journal is the last fault's too."""
        self.lab.run("cd /var/lib/tiercel && rm -rf ops/* fences owner.json")

    def _enrol(self) -> Host:
        """What the enrolment script and then a person do."""
        host, token = enrolment.begin_enrolment(NAME, "127.0.0.1", self.lab.ssh_port)
        self.lab.run(ADMIT.format(keys=KEYS, key=f'"{host.public_key}"'))
        machine_id = self.lab.run("cat /etc/machine-id").stdout.strip()
        key = self.lab.keys.host_public
        host = enrolment.report_host(token, machine_id, key, self.lab.ssh_port)
        accept_fingerprint(host, key_fingerprint(host.host_key_seen), None)
        return host


class Borrowed(Site):
    """The lab of the tests, without layers: for faults that break no disk."""

    def __init__(self, world: LabWorld) -> None:
        super().__init__(world.lab)
        self.world = world
        self.hdd, self.ssd = world.slow[0], "md0"

    def open(self) -> None:
        self.world.install()
        self.host = self._enrol()

    def reset(self) -> None:
        self.world.reset()
        self._make_ready()


def _accepted(record: dict[str, Any]) -> Accepted:
    call = record["call"]
    return Accepted(record["op"], call["verb"], call["args"]["vg"], record["fence"])


def _ran(record: dict[str, Any]) -> list[Ran]:
    """One that never ended, because the host did, took no time."""
    return [
        Ran(
            record["op"], tuple(command["argv"]), command["started_ns"] / 1e9,
            (command["ended_ns"] or command["started_ns"]) / 1e9,
        )
        for command in record["commands"]
        if command["started_ns"] is not None
    ]  # fmt: skip
