"""What LVM reports of groups that guests wrote. tests/data/agent/guests-groups.txt is what lvm2
2.03.16 said of the groups of tests/hostile/scenarios.py, beside an honest vg0."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage.agent.calls import names
from storage.agent.facts.soundness import sift
from storage.agent.kernel import lvm
from storage.agent.kernel.local_host import CommandResult
from tests.fake import FakeHost
from tests.fake.fixtures import fake_host as fake_host
from tests.hostile.scenarios import MARK

REPORT = Path(__file__).parents[3] / "data" / "agent" / "guests-groups.txt"


class Said:
    """A host whose LVM says this."""

    def __init__(self, result: CommandResult) -> None:
        self.result = result

    def run(self, *_: object, **__: object) -> CommandResult:
        return self.result


def read(result: CommandResult, needed: tuple[str, ...] = ("vg0",)) -> lvm.Report:
    return lvm.read(Said(result), needed=needed)  # type: ignore[arg-type]


@pytest.fixture
def report() -> lvm.Report:
    return read(CommandResult(0, REPORT.read_text()))


def test_one_spoiled_group_spoils_no_other(report: lvm.Report) -> None:
    assert len(report.unreadable) == 4
    found = sift(report, (), ()).report
    assert [(lv["vg_name"], lv["lv_name"]) for lv in found.lvs] == [("vg0", "web12")]
    assert found.consistent


def test_each_of_them_is_named_with_its_reason_and_none_of_its_text(report: lvm.Report) -> None:
    unsound = {each.name: each.why for each in sift(report, (), ()).unsound}
    assert "vg0" not in unsound and len(unsound) == 9
    assert unsound["guestvg10"] == "two of its volumes have the same uuid"
    assert unsound["guestvg4"] == "LVM's report of it cannot be decoded"
    assert "which is not an LVM tag" in unsound["guestvg0"]
    for why in unsound.values():
        assert not set(why) & set('"\\\n$;`')


def test_their_disks_do_not_look_unused(report: lvm.Report) -> None:
    found = sift(report, (), ()).report
    in_use = {pv["pv_name"] for pv in found.pvs if pv["vg_uuid"]}
    assert in_use == {f"/dev/loop{number}" for number in (0, 1, 2, 3, 4, 5, 8, 9, 10, 12)}


@pytest.mark.parametrize("name", ["aaa", "vg0"])
def test_the_group_that_root_allowed_keeps_a_volume_that_another_claims(
    fake_host: FakeHost, name: str
) -> None:
    fake_host.root.add_lv("web12", 4 << 20)
    mine = lvm.read(fake_host)
    other = {"vg_uuid": "x" * 6, "vg_name": name}
    both = lvm.Report(
        ({**mine.vgs[0], **other}, *mine.vgs),
        ({**mine.pvs[0], **other}, *mine.pvs),
        ({**mine.lvs[0], **other}, *mine.lvs),
        ({**mine.segments[0], **other}, *mine.segments),
        stale=False,
        consistent=True,
    )
    found = sift(both, (), {mine.vgs[0]["vg_uuid"]})
    assert [lv["vg_uuid"] for lv in found.report.lvs] == [mine.vgs[0]["vg_uuid"]]
    assert [each.vg_uuid for each in found.unsound] == ["x" * 6]


def test_a_group_that_lvm_fails_over_stops_only_who_asks_for_it() -> None:
    said = CommandResult(5, REPORT.read_text(), "  Cannot process volume group guestvg7\n")
    assert {row["vg_name"] for row in read(said).vgs} >= {"vg0"}
    with pytest.raises(Exception, match="failed with exit code 5"):
        read(said, ("guestvg7",))
    with pytest.raises(Exception, match="failed with exit code 5"):
        read(CommandResult(5, REPORT.read_text(), "  Internal error\n"))


@pytest.mark.parametrize("tag", ["tiercel", "a/b=c:d&e#f!", "A" * 128])
def test_what_lvm_writes_as_a_tag_is_one(tag: str) -> None:
    assert names.tag(tag) == tag


@pytest.mark.parametrize("tag", ["", "-a", 'a"', "a b", "a\\", "a\n", "a$b", "é", f"'{MARK}'"])
def test_anything_else_is_none(tag: str) -> None:
    with pytest.raises(ValueError, match="LVM tag"):
        names.tag(tag)


def test_what_is_shown_of_a_name_is_no_name() -> None:
    assert names.printable("a;b\n$(c)") == "a?b???c?"
    with pytest.raises(ValueError, match="volume group"):
        names.vg_name(names.printable("a" * 200))
