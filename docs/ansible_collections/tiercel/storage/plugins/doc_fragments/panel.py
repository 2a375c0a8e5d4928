"""What every module of the collection asks for."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  panel_url:
    description:
      - Address of the panel.
      - The variable E(TIERCEL_URL) is used if this is not set.
    type: str
    required: true
  panel_token:
    description:
      - A token of the panel, from its page C(/tokens/).
      - The variable E(TIERCEL_TOKEN) is used if this is not set.
    type: str
    required: true
  validate_certs:
    description: Whether the certificate of the panel must be valid.
    type: bool
    default: true
  ca_path:
    description: A file of certificates to trust instead of the system's.
    type: path
notes:
  - Runs anywhere but on the storage host. Use C(delegate_to=localhost), or a play on C(localhost).
attributes:
  check_mode:
    support: full
    description: Changes nothing and returns what would change.
  diff_mode:
    support: full
    description: Shows what changes.
"""
