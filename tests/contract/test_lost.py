"""cache.drop: refused wherever the cache is there."""

from __future__ import annotations

import pytest

from tests.contract.client import Agent

pytestmark = pytest.mark.thorough


def test_a_cache_whose_ssd_is_there_is_not_dropped(agent: Agent) -> None:
    volume, pool = agent.cached()
    with agent.unchanged():
        assert agent.refused("cache.drop", {"lv": volume, "pool": pool}) == "unsupported"
