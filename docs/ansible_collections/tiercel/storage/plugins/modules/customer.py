#!/usr/bin/python
"""Customers of a panel."""

from __future__ import annotations

DOCUMENTATION = r"""
module: customer
short_description: Make, change and delete customers
description:
  - A customer is known by your own id for it. So a second run changes nothing.
options:
  external_id:
    description: Your own id of the customer.
    type: str
    required: true
  name:
    description: Name of the customer. Required to make one.
    type: str
  state:
    description:
      - V(absent) deletes a customer that has no volumes, users or orders. The panel refuses to
        delete another one.
    type: str
    choices: [present, absent]
    default: present
extends_documentation_fragment:
  - tiercel.storage.panel
author:
  - The Tiercel project
"""

EXAMPLES = r"""
- name: Customer 42 is there
  tiercel.storage.customer:
    external_id: "42"
    name: Acme Hosting
"""

RETURN = r"""
customer:
  description: The customer as the API returns it; null if it is absent, or would be made.
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

OPTIONS = {
    "external_id": {"type": "str", "required": True},
    "name": {"type": "str"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}
FIELDS = ("external_id", "name")


def main() -> None:
    module = AnsibleModule({**OPTIONS, **PANEL_OPTIONS}, supports_check_mode=True)
    panel, wanted = Panel(module), {name: module.params[name] for name in FIELDS}
    row = panel.by_external_id("/customers/", wanted["external_id"])
    before = {name: row[name] for name in FIELDS} if row else None
    title = f"customer {wanted['external_id']}"
    if module.params["state"] == "absent":
        if row is not None and not module.check_mode:
            panel.send("DELETE", f"/customers/{row['key']}")
        module.exit_json(changed=row is not None, customer=None, diff=diff_of(before, None, title))
    if row is None and wanted["name"] is None:
        module.fail_json(msg=f"There is no customer {wanted['external_id']}. Give name to make it.")
    changed = changes(before or {}, wanted)
    if changed and not module.check_mode:
        if row is None:
            row = panel.send("POST", "/customers/", wanted)
        else:
            row = panel.send("PATCH", f"/customers/{row['key']}", changed)
    after = {**(before or {}), **changed}
    module.exit_json(changed=bool(changed), customer=row, diff=diff_of(before, after, title))


if __name__ == "__main__":
    main()
