"""Which runs compete, and what they are called."""

from __future__ import annotations

from dataclasses import replace

from panel.benchmarks.contests import contests_of
from storage.benchmarks.matrix import CacheState, Profile, TargetKind
from storage.byte_sizes import GIB
from tests.panel.benchmarks.measuring import HERE, cell, runs

LVM = cell(TargetKind.LVMCACHE)


def names(*found: list) -> list[str]:  # type: ignore[type-arg]
    [contest] = contests_of([run for each in found for run in each])
    return [entrant.name for entrant in contest.entrants]


def test_each_load_and_each_size_of_data_is_a_contest() -> None:
    found = [
        *runs(LVM, [1e3]),
        *runs(replace(LVM, data_bytes=8 * GIB), [900]),
        *runs(replace(LVM, profile=Profile.MIXED), [800]),
    ]
    titles = [contest.title for contest in contests_of(found)]
    assert titles == [
        "Hot random reads (zipf 1.2), 4 GiB of data",
        "Hot random reads (zipf 1.2), 8 GiB of data",
        "Mixed, 70 % reads (zipf 1.2), 4 GiB of data",
    ]
    assert len(contests_of(found, by_data=False)) == 2


def test_an_entrant_is_called_by_what_tells_it_from_others_of_its_target() -> None:
    junk = replace(LVM, state=CacheState.JUNK)
    assert names(runs(LVM, [9e3]), runs(cell(TargetKind.HDD), [1e3])) == ["lvmcache", "HDD alone"]
    assert names(runs(LVM, [9e3]), runs(junk, [1e3])) == ["lvmcache, new", "lvmcache, full of junk"]


def test_of_several_benchmarks_each_entrant_names_its_own() -> None:
    other = replace(HERE, key="bbbb", title="There")
    assert names(runs(LVM, [9e3]), runs(LVM, [8e3], source=other)) == [
        "lvmcache, Here",
        "lvmcache, There",
    ]
    same = replace(other, title="Here")
    assert names(runs(LVM, [9e3]), runs(LVM, [8e3], source=same)) == [
        "lvmcache, Here (aaaa)",
        "lvmcache, Here (bbbb)",
    ]


def test_lines_of_one_target_share_a_colour_and_differ_in_their_dashes() -> None:
    junk = replace(LVM, state=CacheState.JUNK)
    [contest] = contests_of(
        [*runs(LVM, [9e3]), *runs(junk, [1e3]), *runs(cell(TargetKind.SSD), [1e5])]
    )
    styles = {each.name: (each.colour, each.dash) for each in contest.entrants}
    assert styles == {
        "lvmcache, new": ("blue", ""),
        "lvmcache, full of junk": ("blue", "dashed"),
        "SSD alone": ("green", ""),
    }


def test_the_run_that_is_drawn_is_the_middle_one() -> None:
    [contest] = contests_of(runs(LVM, [9e3, 7e3, 8e3]))
    assert contest.entrants[0].middle.summary.iops == 8e3
    assert contest.entrants[0].iops_range == (7e3, 9e3)
