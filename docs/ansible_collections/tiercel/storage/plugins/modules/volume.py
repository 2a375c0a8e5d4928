#!/usr/bin/python
"""Volumes of a panel."""

from __future__ import annotations

DOCUMENTATION = r"""
module: volume
short_description: Make, grow, move and retire volumes
description:
  - A volume is known by your own id for it, or by its key.
  - Nothing is destroyed. V(retired) switches a volume off and keeps its data.
options:
  external_id:
    description: Your own id of the volume, or the key of a volume that exists.
    type: str
    required: true
  label:
    description: Name of the volume in the panel. Required to make a volume.
    type: str
  host:
    description: Name or key of the host. Required to make a volume, and used only for that.
    type: str
  vg:
    description: Volume group on the host. Required to make a volume, and used only for that.
    type: str
  size_bytes:
    description:
      - Size that the guest sees. It can only grow. Required to make a volume.
      - The panel rounds it up to whole extents.
    type: int
  tier:
    description: Disks that hold the volume. A change moves the volume while it is used.
    type: str
    choices: [hdd, ssd]
  layout:
    description: Used to make a volume. V(bcache) is formatted for a bcache.
    type: str
    choices: [plain, bcache]
  customer:
    description: External id or key of the customer. An empty text is refused.
    type: str
  without_customer:
    description: Takes the volume from its customer. Not together with O(customer).
    type: bool
    default: false
  state:
    description: V(retired) switches the volume off and keeps its data; V(present) restores it.
    type: str
    choices: [present, retired]
    default: present
  wait:
    description: Whether to wait for the end of jobs.
    type: bool
    default: true
  wait_timeout:
    description: Seconds to wait for a job. It goes on after that, and the task fails.
    type: int
    default: 3600
extends_documentation_fragment:
  - tiercel.storage.panel
author:
  - The Tiercel project
"""

EXAMPLES = r"""
- name: The disk of VPS 1012 is there, with 40 GiB
  tiercel.storage.volume:
    external_id: vps-1012
    label: vps-1012 root
    host: berlin1
    vg: vg0
    size_bytes: "{{ '40G' | human_to_bytes }}"
    customer: "42"
"""

RETURN = r"""
volume:
  description: The volume as the API returns it; null if it would be made.
  returned: success
  type: dict
jobs:
  description: Jobs that were started, as the API returns them.
  returned: success
  type: list
  elements: dict
commands:
  description: What would be run on the host. A volume that would be made has no commands yet.
  returned: in check mode
  type: list
  elements: str
"""

from typing import Any  # noqa: E402

from ansible.module_utils.basic import AnsibleModule  # noqa: E402
from ansible_collections.tiercel.storage.plugins.module_utils.panel import (  # noqa: E402
    PANEL_OPTIONS,
    WAIT_OPTIONS,
    Panel,
    changes,
    diff_of,
)

OPTIONS = {
    "external_id": {"type": "str", "required": True},
    "label": {"type": "str"},
    "host": {"type": "str"},
    "vg": {"type": "str"},
    "size_bytes": {"type": "int"},
    "tier": {"type": "str", "choices": ["hdd", "ssd"]},
    "layout": {"type": "str", "choices": ["plain", "bcache"]},
    "customer": {"type": "str"},
    "without_customer": {"type": "bool", "default": False},
    "state": {"type": "str", "choices": ["present", "retired"], "default": "present"},
}
NEEDED = ("label", "host", "vg", "size_bytes")
LIVES = {"present": "live", "retired": "retired"}
Json = dict[str, Any]


class Task:
    """The volume of one task: what is, what is wanted, and the jobs between them."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module, self.params = module, module.params
        self.panel = Panel(module)
        self.jobs: list[Json] = []
        self.commands: list[str] = []
        self.before: Json = {}
        self.after: Json = {}

    def run(self) -> None:
        volume = self.panel.volume(self.params["external_id"])
        if volume is None:
            self._make()
            return
        wish = self.panel.get(f"/volumes/{volume['key']}/wish")
        self._record(volume)
        if self._live(volume, wish) and self.params["state"] == "present":
            self._shape(volume, wish)
        volume = self.panel.get(f"/volumes/{volume['key']}")
        self._exit(volume)

    def _make(self) -> None:
        params = self.params
        missing = [name for name in NEEDED if params[name] is None]
        if missing or params["state"] != "present":
            self.module.fail_json(
                msg=f"No volume has the key or the external id {params['external_id']!r}. "
                f"To make one, give {', '.join(missing) or 'state present'}."
            )
        host = self.panel.one_of("/hosts/", params["host"], ("key", "name"), "host")["key"]
        body = {
            **{name: params[name] for name in ("external_id", "label", "vg", "size_bytes")},
            **{name: params[name] for name in ("tier", "layout") if params[name] is not None},
            "host": host,
            "customer": self._customer(),
        }
        self.after = body
        if self.module.check_mode:
            # A dry run would already make the record.
            self._exit(None)
        job = self.panel.send("POST", "/volumes/", body)
        self._wait(job)
        self._exit(self.panel.get(f"/volumes/{job['volume']['key']}"))

    def _record(self, volume: Json) -> None:
        """What only the panel keeps."""
        customer = volume["customer"]["key"] if volume["customer"] else None
        wanted = {"label": self.params["label"]}
        now = {"label": volume["label"], "customer": customer}
        body = changes(now, wanted)
        is_named = self.params["customer"] is not None or self.params["without_customer"]
        if is_named and (theirs := self._customer()) != customer:
            body["customer"] = theirs
        self._note(now, body)
        if body and not self.module.check_mode:
            self.panel.send("PATCH", f"/volumes/{volume['key']}", body)

    def _live(self, volume: Json, wish: Json) -> bool:
        """Let it be switched on or off; False where it stays off for now."""
        wanted = LIVES[self.params["state"]]
        if wish["life"] == wanted:
            return True
        self._note({"life": wish["life"]}, {"life": wanted})
        self._put(volume, {"life": wanted})
        return not self.module.check_mode and self.params["wait"]

    def _shape(self, volume: Json, wish: Json) -> None:
        now = {"size_bytes": volume["size_bytes"], "tier": wish.get("tier")}
        body = changes(now, {name: self.params[name] for name in now})
        if not body:
            return
        if self._put(volume, body):
            self._note(now, body)

    def _put(self, volume: Json, body: Json) -> bool:
        """The job of a wish, or its commands in check mode; False where it is met already."""
        path = f"/volumes/{volume['key']}/wish"
        if self.module.check_mode:
            answer, commands = self.panel.planned(path, body)
            self.commands += commands
            return "is_met" not in answer
        answer = self.panel.send("PUT", path, body)
        if "is_met" in answer:
            return False
        self._wait(answer)
        return True

    def _wait(self, job: Json) -> None:
        if self.params["wait"]:
            job = self.panel.ended(job, self.params["wait_timeout"])
        self.jobs.append(job)

    def _note(self, now: Json, body: Json) -> None:
        self.before |= {name: now.get(name) for name in body}
        self.after |= body

    def _customer(self) -> str | None:
        """The key of the customer that is wanted; None for no customer."""
        name = self.params["customer"]
        if name is None:
            return None
        return str(
            self.panel.one_of("/customers/", name, ("external_id", "key"), "customer")["key"]
        )

    def _exit(self, volume: Json | None) -> None:
        after = {**self.after}
        if self.commands:
            after["commands"] = self.commands
        self.module.exit_json(
            changed=bool(self.after),
            volume=volume,
            jobs=self.jobs,
            diff=diff_of(self.before, after, f"volume {self.params['external_id']}"),
            **({"commands": self.commands} if self.module.check_mode else {}),
        )


def main() -> None:
    module = AnsibleModule(
        {**OPTIONS, **WAIT_OPTIONS, **PANEL_OPTIONS},
        mutually_exclusive=[("customer", "without_customer")],
        supports_check_mode=True,
    )
    Task(module).run()


if __name__ == "__main__":
    main()
