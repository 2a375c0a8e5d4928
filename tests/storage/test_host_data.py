"""What every field of a host's data goes through."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from storage.host_data import U64, BadHostData, Count, cleaned, decoded, storable


@dataclass(frozen=True)
class Leaf:
    name: str
    size_bytes: Count
    reads: U64 = 0


@dataclass(frozen=True)
class Tree:
    leaves: tuple[Leaf, ...]


@pytest.mark.parametrize(
    ("leaf", "place"),
    [
        ({"size_bytes": 1}, "tree.leaves[1]: Object missing required field `name`"),
        ({"name": 1, "size_bytes": 1}, "tree.leaves[1].name: Expected `str`, got `int`"),
        ({"name": "a", "size_bytes": 2**63}, "tree.leaves[1].size_bytes: Expected `int` <= "),
        ({"name": "a", "size_bytes": 1, "reads": 2**64}, "tree.leaves[1].reads: Expected `int`"),
        ({"name": "a", "size_bytes": 1, "reads": 10**5000}, "tree.leaves[1].reads: Expected `int`"),
        (
            {"name": "a", "size_bytes": True},
            "tree.leaves[1].size_bytes: Expected `int`, got `bool`",
        ),
    ],
)
def test_a_refusal_names_the_field(leaf: dict[str, Any], place: str) -> None:
    with pytest.raises(BadHostData) as refusal:
        decoded({"leaves": [{"name": "a", "size_bytes": 1}, leaf]}, Tree, "tree")
    assert str(refusal.value).startswith(place)


def test_data_of_another_kind_is_refused_by_its_root() -> None:
    with pytest.raises(BadHostData, match=r"^tree: Expected `object`, got `array`$"):
        decoded([], Tree, "tree")


def test_text_in_keys_is_cleaned_too() -> None:
    assert cleaned({"a\0\ud800": ["b\0" + "x" * 600]}) == {"a\ufffd?": ["b\ufffd" + "x" * 510]}


def test_what_nests_too_deeply_is_null() -> None:
    assert cleaned([[["a"]]], depth=2) == [[None]]


def test_stored_json_holds_only_numbers_of_a_bigint() -> None:
    numbers = [1, 2**63 - 1, 2**63, 10**5000, 1.5, float("nan"), float("inf"), True, None]
    assert storable(numbers) == [1, 2**63 - 1, None, None, 1.5, None, None, True, None]


FIRST_USE = """
import sys, threading
import storage.inventory.facts as facts

sys.setswitchinterval(1e-6)
data = {"consistent": True, "stale": False, **{part: [] for part in facts.PARTS}}
together = threading.Barrier(8)

def decode():
    together.wait()
    facts.decode(data)

threads = [threading.Thread(target=decode) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_threads_that_use_a_shape_for_the_first_time_do_not_crash_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST_USE], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
