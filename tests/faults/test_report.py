"""docs/faults.md: a page of figures; the list beside it has each fault."""

from __future__ import annotations

from pathlib import Path

from panel.operations.local_services import CHECKOUT
from tests.faults import report
from tests.faults.fault import Fault, Outcome, Played
from tests.faults.workers import Workers


def play(workers: Workers) -> Played:
    raise AssertionError("not played here")


def outcome(name: str, *problems: str, id: str = "", in_lab: bool = False) -> Outcome:
    fault = Fault(name, "tried again", play, id=id, in_lab=in_lab)
    return Outcome(fault, "succeeded", list(problems), recovery_s=2.0)


def test_the_page_counts_what_the_list_names(tmp_path: Path) -> None:
    page, whole = tmp_path / "faults.md", tmp_path / "list.md"
    outcomes = [
        outcome("add lvmcache: cut after 0 bytes", id="F06"),
        outcome("add lvmcache: cut after 9 bytes", "sent twice", id="F06"),
        outcome("create: power is cut", id="F24", in_lab=True),
        outcome("Redis is down", id="F12"),
        *(outcome(f"resize: kill at point {n}") for n in range(9)),
    ]
    summary = report.write(outcomes, {"fence": ["noticed"]}, {}, 1, page, whole)
    assert (summary["total"], summary["survived"]) == (13, 12)
    text = page.read_text()
    assert "**12 of 13 faults survived**" in text
    assert "| F06 | cut after 0 bytes; cut after 9 bytes | tried again | 1 of 2 | 2.0 s |" in text
    assert "| resize | kill at point 0; kill at point 1; kill at point 2; 6 more |" in text
    assert "kill at point 8" not in text
    assert "| F12 | Redis is down | tried again |" in text
    assert all(each.fault.name in whole.read_text() for each in outcomes)


def test_a_fault_that_was_not_survived_stands_on_the_page_with_its_problem(tmp_path: Path) -> None:
    page = tmp_path / "faults.md"
    lost = outcome("add bcache: kill at send", f"see {CHECKOUT}/var/log: a volume is gone")
    report.write([lost], {}, {}, 1, page, tmp_path / "list.md")
    assert "**NOT SURVIVED** succeeded: see var/log: a volume is gone" in page.read_text()
