"""What `make quick` runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from tests import quick

# Not written out: a comment or a docstring names no file that is not there.
TESTS, PAGES = "tests", "templates"
TEXTS = {
    "room/growth.py": "",
    "room/pages.py": "from room import growth; render('grown/list.html')",
    "room/far.py": "from room import pages",
    f"{PAGES}/grown/list.html": "",
    f"{TESTS}/test_growth.py": "from room.growth import grow",
    f"{TESTS}/test_pages.py": "from room import pages",
    f"{TESTS}/test_far.py": "from room import far",
    f"{TESTS}/test_other.py": "",
    "words/growth.md": "",
    f"{TESTS}/test_documents.py": "read('growth.md')",
}
IMPORTERS = {
    "room/growth.py": ["room/pages.py", f"{TESTS}/test_growth.py"],
    "room/pages.py": ["room/far.py", f"{TESTS}/test_pages.py"],
    "room/far.py": [f"{TESTS}/test_far.py"],
}


def near(*changed: str) -> dict[str, int]:
    return quick.nearness(changed, TEXTS, lambda path: IMPORTERS.get(path, []))


def test_a_changed_test_is_nearest() -> None:
    assert near(f"{TESTS}/test_other.py") == {f"{TESTS}/test_other.py": 0}


def test_the_mirror_of_a_changed_module_is_nearer_than_what_imports_its_importers() -> None:
    assert near("room/growth.py") == {
        f"{TESTS}/test_growth.py": quick.MIRRORS,
        f"{TESTS}/test_pages.py": 3,
        f"{TESTS}/test_far.py": 4,
    }


def test_a_template_reaches_the_tests_of_the_page_that_names_it() -> None:
    assert f"{TESTS}/test_pages.py" in near(f"{PAGES}/grown/list.html")


def test_a_document_reaches_the_tests_that_name_it() -> None:
    assert list(near("words/growth.md")) == [f"{TESTS}/test_documents.py"]


def test_what_has_no_time_left_is_not_chosen_and_the_nearest_is_chosen_whatever_it_takes() -> None:
    steps = {f"{TESTS}/a.py": 0, f"{TESTS}/b.py": 2, f"{TESTS}/c.py": 3, f"{TESTS}/d.py": 3}
    seconds = {
        f"{TESTS}/a.py": 40.0,
        f"{TESTS}/b.py": 21.0,
        f"{TESTS}/c.py": 15.0,
        f"{TESTS}/d.py": 4.0,
    }
    assert quick.chosen(steps, seconds) == [f"{TESTS}/a.py", f"{TESTS}/d.py", f"{TESTS}/c.py"]
    assert quick.chosen(steps, {**seconds, f"{TESTS}/a.py": 90.0}) == [f"{TESTS}/a.py"]


class Item:
    """As much of a test as the budget asks for."""

    fixturenames = ()

    def __init__(self, path: str, *marks: str) -> None:
        self.path = quick.ROOT / path
        self._marks = marks

    def get_closest_marker(self, name: str) -> str | None:
        return name if name in self._marks else None


def test_once_the_time_is_over_only_the_nearest_run() -> None:
    steps = {f"{TESTS}/a.py": quick.MIRRORS, f"{TESTS}/b.py": 2}
    for end, passes_over in ((float("inf"), None), (0.0, True)):
        budget = quick.Budget(steps, end)
        assert budget.pytest_runtest_protocol(cast("Any", Item(f"{TESTS}/a.py"))) is None
        assert budget.pytest_runtest_protocol(cast("Any", Item(f"{TESTS}/b.py"))) is passes_over
        assert budget.left == (1 if passes_over else 0)


def test_the_lab_is_left_out_and_a_browser_unless_its_own_test_changed() -> None:
    budget = quick.Budget({f"{TESTS}/a.py": 0, f"{TESTS}/b.py": 1}, 0.0)
    lab, own, other = (
        Item(f"{TESTS}/a.py", "lab"),
        Item(f"{TESTS}/a.py", "browser"),
        Item(f"{TESTS}/b.py", "browser"),
    )
    items: list[Any] = [lab, own, other]
    config = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda items: None))
    budget.pytest_collection_modifyitems(cast("Any", config), items)
    assert items == [own]
    assert budget.left == 2
