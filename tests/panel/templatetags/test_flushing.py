from __future__ import annotations

import pytest

from panel.templatetags.flushing import how_far
from storage.byte_sizes import GIB


@pytest.mark.parametrize(
    ("label", "done", "total", "words"),
    [
        ("zeroed", GIB, 4 * GIB, "1 GiB of 4 GiB"),
        ("laid_out", GIB, 4 * GIB, "1 GiB of 4 GiB"),
        ("measured", 90, 600, "1 min of 10 min"),
        ("warmed", 30, 60, "30 s of 1 min"),
        ("junk", 40, 100, "40 %"),
    ],
)
def test_what_is_done_is_said_in_its_own_unit(
    label: str, done: int, total: int, words: str
) -> None:
    assert how_far({"label": label, "done_bytes": done, "total_bytes": total}) == words
