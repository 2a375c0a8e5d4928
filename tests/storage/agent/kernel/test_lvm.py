"""What LVM and lsblk print in the releases of several distributions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from storage.agent.calls.refusals import Refusal
from storage.agent.kernel import disks, lvm, tools
from storage.agent.kernel.local_host import CommandResult
from tests.contract.client import Agent
from tests.contract.fake_world import FakeWorld
from tests.fake import FakeHost

DATA = Path(__file__).parents[3] / "data" / "lvm"
RELEASES = ("2.03.11", "2.03.14", "2.03.16", "2.03.31")


def recorded(name: str) -> str:
    return (DATA / name).read_text()


@pytest.mark.parametrize("version", RELEASES)
def test_a_locked_group_is_read_without_its_lock_by_each_release(
    make_fake_host: Callable[..., FakeHost], version: str
) -> None:
    host = make_fake_host()
    host.machine.versions["lvm"] = version
    agent = Agent(FakeWorld(host))
    agent.volume()
    with host.vg_lock("vg0"):
        report = lvm.read(host)
        with pytest.raises(Refusal) as refusal:
            lvm.read(host, fresh="vg0")
        elsewhere = lvm.read(host, fresh="vg1")
    assert report.stale and elsewhere.stale and len(report.lvs) == 1
    assert refusal.value.code == "busy"
    assert "Can't get lock for vg0." in refusal.value.stderr


class Locked:
    """Answers the report that takes locks as Debian 13 did; without locks there is nothing."""

    def __init__(self) -> None:
        self.asked: list[Sequence[str]] = []

    def run(self, argv: Sequence[str], *, timeout: float | None = 10.0) -> CommandResult:
        self.asked.append(argv)
        if "--nolocking" in argv:
            return CommandResult(0, "", "", '{"report": []}')
        return CommandResult(5, "", "", recorded("locked-2.03.31.json"))


def test_a_lock_that_only_the_log_of_the_report_shows_is_a_lock() -> None:
    host = Locked()
    assert lvm.read(host, fresh="vg1").stale  # type: ignore[arg-type]
    assert ["--nolocking" in argv for argv in host.asked] == [False, True]
    with pytest.raises(Refusal) as refusal:
        lvm.read(host, fresh="vg0")  # type: ignore[arg-type]
    assert refusal.value.code == "busy"


def test_a_message_of_several_lines_names_no_locked_group(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Locked()
    text = recorded("locked-2.03.31.json").replace(
        "Can't get lock for vg0.", r"odd\nCannot process volume group vg9"
    )
    monkeypatch.setattr(host, "run", lambda argv, timeout: CommandResult(5, "", "", text))
    assert lvm.read(host, fresh="vg9").stale  # type: ignore[arg-type]


def test_a_guests_text_in_a_report_is_no_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    """LVM prints a newline of a tag as it is, and escapes each quotation mark."""
    host = Locked()
    tag = r"x\nCannot process volume group vg0\n{\"log_seq_num\":1}".replace(r"\n", "\n")
    text = f'{{"report": [{{"vg": [{{"vg_tags":"{tag}: Resource temporarily unavailable"}}]}}]}}'
    monkeypatch.setattr(host, "run", lambda argv, timeout: CommandResult(5, "", "", text))
    with pytest.raises(Refusal) as refusal:
        lvm.read(host, fresh="vg0")  # type: ignore[arg-type]
    assert refusal.value.code == "cmd_failed"


def test_a_warning_before_the_report_is_no_part_of_it() -> None:
    result = CommandResult(0, recorded("rhel-fullreport.txt"))
    pvs = lvm.rows(result, "pv", ("lvm", "fullreport"))
    assert [row["pv_name"] for row in pvs] == ["/dev/vda2", "/dev/vdb"]
    lvs = lvm.rows(result, "lv", ("lvm", "fullreport"))
    assert [row["lv_full_name"] for row in lvs] == ["rhel/root", "vg1/lvraid1"]


@pytest.mark.parametrize(
    ("value", "text"), [(None, ""), (["tiercel", "a"], "tiercel,a"), (4096, "4096"), ("1", "1")]
)
def test_numbers_lists_and_nothing_are_what_older_releases_print(value: object, text: str) -> None:
    assert lvm.flat(value) == text


def test_disks_are_the_same_where_lsblk_prints_every_value_as_text(
    host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = recorded("lsblk-2.32.json")
    monkeypatch.setattr(host, "run", lambda argv, **_: CommandResult(0, text))
    nvme, lun = disks.disks(host)
    assert (nvme["rotational"], nvme["read_only"], nvme["size_bytes"]) == (
        False,
        False,
        512110190592,
    )
    assert (nvme["model"], nvme["logical_sector_bytes"]) == ("Samsung SSD 970 EVO Plus 500GB", 512)
    assert (lun["rotational"], lun["read_only"], lun["transport"]) == (True, True, "iscsi")
    assert (lun["logical_sector_bytes"], lun["serial"]) == (4096, "")


def test_the_io_scheduler_of_a_disk_is_the_one_in_brackets(host: FakeHost) -> None:
    with host.changing() as machine:
        machine.disks[0].scheduler = "none mq-deadline kyber [bfq]"
        machine.disks[1].scheduler = "[none] mq-deadline"
        machine.disks[2].scheduler = "none"
    assert [each["scheduler"] for each in disks.disks(host)[:4]] == [
        "bfq",
        "none",
        "",
        "mq-deadline",
    ]


class Cut:
    """A host with so many volumes that the end of LVM's report is missing."""

    def run(self, argv: Sequence[str], *, timeout: float | None = 10.0) -> CommandResult:
        return CommandResult(0, "", "", '  {\n      "report": [\n', is_cut=True)


def test_a_report_of_which_the_end_is_missing_is_refused_as_such() -> None:
    with pytest.raises(Refusal, match="too_large"):
        lvm.read(Cut())  # type: ignore[arg-type]


def test_a_program_that_says_too_much_is_known_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "OUTPUT_LIMIT", 10)
    runner = tools.Runner(tmp_path)
    results = [runner.run(["echo", words], 10.0) for words in ("short", "much too long")]
    assert [(each.stdout, each.is_cut) for each in results] == [
        ("short\n", False),
        ("much too l", True),
    ]
