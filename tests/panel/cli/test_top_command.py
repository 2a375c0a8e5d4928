"""`tiercel top` at a live panel."""

from __future__ import annotations

import pytest

from tests.panel.cli.conftest import Tiercel
from tests.scene import Scene

pytestmark = pytest.mark.django_db(transaction=True)


def test_top_ranks_volumes_by_what_their_guests_wait(tiercel: Tiercel, there: Scene) -> None:
    once = tiercel("top", "--once", "--json")
    assert [each["key"] for each in once.data] == [there.volume.key]
    assert "WAITING" in tiercel("top", "--once").out
