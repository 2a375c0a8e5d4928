"""A plugin of pytest that comes first: what a helper asserts says what differs, as in a test.

Named by pyproject.toml, since it must run before any of these is imported.
"""

import pytest

pytest.register_assert_rewrite(
    *(f"tests.{each}" for each in (
        "contract", "demo", "fake", "faults", "integration", "jobs", "panel", "storage",
    ))
)  # fmt: skip
