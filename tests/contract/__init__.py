"""One suite for the agent, run against the fake host and against the lab: the fake cannot lie."""

import pytest

# Its assertions say what differs, as those of the tests do.
pytest.register_assert_rewrite("tests.contract.client")
