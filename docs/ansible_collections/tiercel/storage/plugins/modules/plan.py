#!/usr/bin/python
"""Cache plans of a panel."""

from __future__ import annotations

DOCUMENTATION = r"""
module: plan
short_description: Make, change and delete cache plans
description:
  - A cache plan is what customers order. It is known by its name.
options:
  name:
    description: Name of the plan.
    type: str
    required: true
  description:
    description: Text that customers see.
    type: str
  size_bytes:
    description: SSD space of the cache. Use the filter P(ansible.builtin.human_to_bytes#filter).
    type: int
  ratio_percent:
    description: SSD space as a percentage of the volume, instead of O(size_bytes).
    type: int
  mode:
    description: Mode of the cache.
    type: str
    choices: [writethrough, writeback]
  price_minor:
    description: Monthly price in minor units (cents) of the currency. Required to make a plan.
    type: int
  currency:
    description: ISO 4217, such as EUR. Required to make a plan.
    type: str
  slow_read_ms:
    description: Average time of reads, in ms, from which on a volume with the plan is slow.
    type: int
  on_offer:
    description: Whether customers can order the plan.
    type: bool
  hosts:
    description: Keys of the hosts that offer the plan. Every host if this is empty.
    type: list
    elements: str
  state:
    description:
      - V(absent) deletes a plan that no volume has or had; the panel refuses otherwise. Then set
        O(on_offer=false) instead.
    type: str
    choices: [present, absent]
    default: present
extends_documentation_fragment:
  - tiercel.storage.panel
author:
  - The Tiercel project
"""

EXAMPLES = r"""
- name: Sell 10 GiB of cache for 4.90 EUR a month
  tiercel.storage.plan:
    name: Boost
    size_bytes: "{{ '10G' | human_to_bytes }}"
    mode: writethrough
    price_minor: 490
    currency: EUR
"""

RETURN = r"""
plan:
  description: The plan as the API returns it; null if it is absent, or would be made.
  returned: success
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule  # noqa: E402
from ansible_collections.tiercel.storage.plugins.module_utils.panel import (  # noqa: E402
    PANEL_OPTIONS,
    Panel,
    changes,
    diff_of,
)

FIELD_OPTIONS = {
    "name": {"type": "str", "required": True},
    "description": {"type": "str"},
    "size_bytes": {"type": "int"},
    "ratio_percent": {"type": "int"},
    "mode": {"type": "str", "choices": ["writethrough", "writeback"]},
    "price_minor": {"type": "int"},
    "currency": {"type": "str"},
    "slow_read_ms": {"type": "int"},
    "on_offer": {"type": "bool"},
    "hosts": {"type": "list", "elements": "str"},
}
STATE = {"type": "str", "choices": ["present", "absent"], "default": "present"}
SIZES = {"size_bytes": "ratio_percent", "ratio_percent": "size_bytes"}


def main() -> None:
    module = AnsibleModule(
        {**FIELD_OPTIONS, "state": STATE, **PANEL_OPTIONS},
        supports_check_mode=True,
        mutually_exclusive=[("size_bytes", "ratio_percent")],
    )
    panel = Panel(module)
    wanted = {name: module.params[name] for name in FIELD_OPTIONS}
    rows = [row for row in panel.items("/cache-plans/") if row["name"] == wanted["name"]]
    row = rows[0] if rows else None
    before = {name: row.get(name) for name in FIELD_OPTIONS} if row else None
    title = f"cache plan {wanted['name']}"
    if module.params["state"] == "absent":
        if row is not None and not module.check_mode:
            panel.send("DELETE", f"/cache-plans/{row['key']}")
        module.exit_json(changed=row is not None, plan=None, diff=diff_of(before, None, title))
    if wanted["hosts"] is not None:
        wanted["hosts"] = sorted(wanted["hosts"])
    if before is not None:
        before["hosts"] = sorted(each["key"] for each in before["hosts"] or [])
    changed = changes(before or {}, wanted)
    for name, other in SIZES.items():
        # A plan has one of them.
        if name in changed and (before or {}).get(other) is not None:
            changed[other] = None
    if changed and not module.check_mode:
        if row is None:
            row = panel.send("POST", "/cache-plans/", changed)
        else:
            row = panel.send("PATCH", f"/cache-plans/{row['key']}", changed)
    after = {**(before or {}), **changed}
    module.exit_json(changed=bool(changed), plan=row, diff=diff_of(before, after, title))


if __name__ == "__main__":
    main()
