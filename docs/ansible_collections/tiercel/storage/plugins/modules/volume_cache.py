#!/usr/bin/python
"""Caches of volumes."""

from __future__ import annotations

DOCUMENTATION = r"""
module: volume_cache
short_description: Give a volume an SSD cache, change it, or take it off
description:
  - Says what the cache should be. The panel finds the steps, and does nothing if it is so.
  - In check mode the panel plans the change and returns the exact commands, which it does not run.
options:
  volume:
    description: Key or external id of the volume.
    type: str
    required: true
  size_bytes:
    description:
      - SSD space. The panel rounds it up to whole extents. Required if O(state=present).
      - Another size replaces the cache by a new, empty one.
    type: int
  mode:
    description: Mode of the cache. Unchanged if this is not set; V(writethrough) for a first cache.
    type: str
    choices: [writethrough, writeback, writearound]
  settings:
    description:
      - Settings of the technology, such as C(migration_threshold_sectors) (lvmcache),
        C(sequential_cutoff_bytes) and C(writeback_percent) (bcache).
    type: dict
    default: {}
  state:
    description: V(absent) writes what only the cache holds to the HDD, then removes the cache.
    type: str
    choices: [present, absent]
    default: present
  wait:
    description: Whether to wait for the end of the job.
    type: bool
    default: true
  wait_timeout:
    description: Seconds to wait. The job goes on after that, and the task fails.
    type: int
    default: 3600
extends_documentation_fragment:
  - tiercel.storage.panel
author:
  - The Tiercel project
"""

EXAMPLES = r"""
- name: The database has a cache of 20 GiB
  tiercel.storage.volume_cache:
    volume: vps-1012
    size_bytes: "{{ '20G' | human_to_bytes }}"
    mode: writeback
"""

RETURN = r"""
commands:
  description: What would be run on the host.
  returned: in check mode
  type: list
  elements: str
job:
  description: The job as the API returns it; null if there was nothing to do.
  returned: success
  type: dict
wish:
  description: What the volume was before.
  returned: success
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule  # noqa: E402
from ansible_collections.tiercel.storage.plugins.module_utils.panel import (  # noqa: E402
    PANEL_OPTIONS,
    WAIT_OPTIONS,
    Panel,
    diff_of,
)

OPTIONS = {
    "volume": {"type": "str", "required": True},
    "size_bytes": {"type": "int"},
    "mode": {"type": "str", "choices": ["writethrough", "writeback", "writearound"]},
    "settings": {"type": "dict", "default": {}},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}


def main() -> None:
    module = AnsibleModule(
        {**OPTIONS, **WAIT_OPTIONS, **PANEL_OPTIONS},
        supports_check_mode=True,
        required_if=[("state", "present", ("size_bytes",))],
    )
    panel, name = Panel(module), module.params["volume"]
    volume = panel.volume(name)
    if volume is None:
        module.fail_json(msg=f"No volume has the key or the external id {name!r}.")
        return
    path = f"/volumes/{volume['key']}/wish"
    before = panel.get(path)
    body = {"cache": _cache(module)}
    commands: list[str] = []
    if module.check_mode:
        answer, commands = panel.planned(path, body)
    else:
        answer = panel.send("PUT", path, body)
    changed = "is_met" not in answer
    if changed and not module.check_mode and module.params["wait"]:
        answer = panel.ended(answer, module.params["wait_timeout"])
    after = answer["wish"]["cache"] if changed else before["cache"]
    diff = diff_of({"cache": before["cache"]}, {"cache": after}, f"volume {name}")
    if commands:
        diff["after"]["commands"] = commands
    module.exit_json(
        changed=changed,
        job=answer if changed else None,
        wish=before,
        diff=diff,
        **({"commands": commands} if module.check_mode else {}),
    )


def _cache(module: AnsibleModule) -> dict[str, object] | None:
    """The body's `cache`."""
    if module.params["state"] == "absent":
        return None
    named = {"size_bytes": module.params["size_bytes"], **module.params["settings"]}
    return {**named, "mode": module.params["mode"]} if module.params["mode"] else named


if __name__ == "__main__":
    main()
