"""A storage host that exists only in memory: the agent's `Host` over a model of the tools.

The contract suite (tests/contract) runs against this and against the lab. Where the two differ,
the lab is right and this is mended. It dies on any command or path it was not taught.
"""

from tests.fake.host import FakeHost

__all__ = ["FakeHost"]
