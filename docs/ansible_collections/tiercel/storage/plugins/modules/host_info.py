#!/usr/bin/python
"""Hosts of a panel."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_info
short_description: Read storage hosts
description:
  - Returns storage hosts with their state and problems, and one host also with its volume groups.
options:
  name:
    description: Name or key of one host. All hosts if this is not set.
    type: str
extends_documentation_fragment:
  - tiercel.storage.panel
author:
  - The Tiercel project
"""

EXAMPLES = r"""
- name: Which hosts have problems?
  tiercel.storage.host_info:
  register: fleet

- ansible.builtin.debug:
    msg: "{{ fleet.hosts | selectattr('problems') | map(attribute='name') }}"
"""

RETURN = r"""
hosts:
  description: Hosts as the API returns them; C(groups) only of a host that was named.
  returned: success
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule  # noqa: E402
from ansible_collections.tiercel.storage.plugins.module_utils.panel import (  # noqa: E402
    PANEL_OPTIONS,
    Panel,
)


def main() -> None:
    module = AnsibleModule({"name": {"type": "str"}, **PANEL_OPTIONS}, supports_check_mode=True)
    panel = Panel(module)
    name = module.params["name"]
    if name is None:
        module.exit_json(changed=False, hosts=panel.items("/hosts/"))
    key = panel.one_of("/hosts/", name, ("key", "name"), "host")["key"]
    module.exit_json(changed=False, hosts=[panel.get(f"/hosts/{key}")])


if __name__ == "__main__":
    main()
