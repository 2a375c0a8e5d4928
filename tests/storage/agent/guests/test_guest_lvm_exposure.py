"""Which of the host's devices are guests' disks, that LVM is to look away from."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from storage.agent.calls.refusals import Refusal
from storage.agent.facts.hello import hello
from storage.agent.facts.inventory import inventory
from storage.agent.guests import hiding
from storage.agent.state import admin
from storage.agent.state.policy import Policy
from tests.contract.client import Agent
from tests.contract.fake_world import FakeWorld
from tests.fake import FakeHost
from tests.fake.lvmfilter import DEVICES, HIDING, global_filter
from tests.fake.parts import GIB, Disk, Pv, Vg

HIDE = "As root on the host run: /usr/lib/tiercel/agent.pyz hide-guests"


@pytest.fixture
def host(make_fake_host: Callable[..., FakeHost]) -> FakeHost:
    """A host with an SSD to spare, sdb."""
    return make_fake_host(single_ssd=True, sees_guests=True)


def problems(host: FakeHost) -> dict[str, dict[str, str]]:
    return {problem["code"]: problem for problem in hello(host)["problems"]}


def made_by_a_guest(host: FakeHost, kname: str, minor: int, *, major: int = 253) -> None:
    """A guest has a volume group on its disk, and LVM on the host finds it."""
    disk = Disk(kname, GIB, False, major=major, minor=minor)
    with host.changing() as machine:
        machine.vgs.append(Vg("inside", machine.lvm_uuid(), [Pv(disk, machine.lvm_uuid())]))


def volume(host: FakeHost) -> str:
    """A bcache volume that was made before LVM's filter was lost."""
    with host.changing() as machine:
        machine.files[hiding.LOCAL] = HIDING
    made = Agent(FakeWorld(host)).backing()
    with host.changing() as machine:
        machine.files[hiding.LOCAL] = b"# Nothing here.\n"
    return made


def filtered(host: FakeHost) -> list[str]:
    return global_filter(host.machine)


@pytest.mark.parametrize(("below", "lies"), [("sdd", "vg0"), ("sda", "vg0")])
def test_a_group_on_a_bcache_of_whole_devices_is_the_hosts_own(
    host: FakeHost, below: str, lies: str
) -> None:
    host.root.make_bcache(below, "sdb")
    found = {pv["name"]: pv["vg_name"] for pv in inventory(host, Policy())["pvs"]}
    assert found["bcache0"] == lies
    assert problems(host).keys().isdisjoint({"foreign_vg_on_guest_disk", "bcache_scanned"})


def test_where_guests_have_bcache_all_of_it_is_hidden_by_one_command(host: FakeHost) -> None:
    volume(host)
    assert problems(host)["bcache_scanned"]["correction"] == HIDE
    said = hiding.hide_guests(host, Policy(("vg0",)))
    assert filtered(host) == ["r|^/dev/bcache.*|", "r|^/dev/tiercel-guest/.*|"]
    assert "now ignores guests' disks" in said
    assert host.machine.files[hiding.LOCAL].startswith(b"# Nothing here.\n# Begin")
    assert "bcache_scanned" not in problems(host)
    assert "already" in hiding.hide_guests(host, Policy(("vg0",)))


def test_where_the_host_stands_on_bcache_only_guests_devices_are_hidden(host: FakeHost) -> None:
    host.root.make_bcache("sdc", "sdb")
    volume(host)
    assert "foreign_vg_on_guest_disk" not in problems(host)
    said = hiding.hide_guests(host, Policy(("vg0",)))
    assert filtered(host) == ["r|^/dev/tiercel-guest/.*|"]
    assert "The bcache on sdc is the host's own and stays visible." in said
    assert "bcache_scanned" not in problems(host)
    assert {pv["name"]: pv["vg_name"] for pv in inventory(host, Policy())["pvs"]}[
        "bcache0"
    ] == "vg0"
    links = {link for link in host.machine.links if link.startswith("/dev/tiercel-guest/")}
    assert links == {"/dev/tiercel-guest/bcache1"}


def test_what_the_filter_had_stays_in_it_but_for_letting_everything_in(host: FakeHost) -> None:
    host.machine.global_filter = ("r|/dev/zd.*|", "r|/dev/rbd.*|", "a|.*|")
    hiding.hide_guests(host, Policy(("vg0",)))
    assert filtered(host)[2:] == ["r|/dev/zd.*|", "r|/dev/rbd.*|"]


@pytest.mark.parametrize("entry", ["a|^/dev/disk/.*|", "a|/dev/|"])
def test_a_filter_that_lets_them_in_by_another_name_is_left_as_it_was(
    host: FakeHost, entry: str
) -> None:
    host.machine.global_filter = (entry, "r|.*|")
    before = host.machine.files.get(hiding.LOCAL)
    with pytest.raises(Refusal, match="another of their names"):
        hiding.hide_guests(host, Policy(("vg0",)))
    assert host.machine.files.get(hiding.LOCAL) in (before, b"")


def test_a_filter_that_root_wrote_there_is_roots(host: FakeHost) -> None:
    written = b'devices { global_filter = [ "r|/dev/sr0|" ] }\n'
    host.save(hiding.LOCAL, written)
    with pytest.raises(Refusal, match="sets global_filter itself"):
        hiding.hide_guests(host, Policy(("vg0",)))
    assert host.machine.files[hiding.LOCAL] == written


@pytest.mark.parametrize(
    ("entries", "hidden"),
    [
        (["r|^/dev/bcache.*|"], True),
        (["r|^/dev/bcache.*|", "a|.*|"], False),
        (["a|^/dev/sd.*|", "r|.*|"], True),
        (["a|.*|"], False),
        (["r|^/dev/bcache0$|"], False),
        ([], False),
        (["r|^/dev/bcache[|"], False),
        (["r|^/dev/tiercel-guest/.*|"], True),
    ],
)
def test_a_filter_hides_only_what_no_name_lets_in(entries: list[str], hidden: bool) -> None:
    listed = ",".join(f'"{entry}"' for entry in entries)
    text = f'scan_lvs=0\nglobal_filter=[{listed}]\nfilter=["a|.*|"]\n'
    assert hiding.is_hidden(text, linked=True) == hidden


ENTRIES = {
    "a guest's bcache": "IDTYPE=devname IDNAME=/dev/bcache0 DEVNAME=/dev/bcache0 PVID=abc",
    "its partition": "IDTYPE=devname IDNAME=/dev/bcache0p1 DEVNAME=/dev/bcache0p1 PVID=abc PART=1",
    "the next guest's bcache": "IDTYPE=devname IDNAME=/dev/bcache7 DEVNAME=. PVID=abc",
}


def listed(host: FakeHost, entry: str) -> None:
    """LVM opens what its devices file lists: the host's own disk, and this."""
    own = "IDTYPE=sys_wwid IDNAME=naa.5000 DEVNAME=/dev/sda PVID=def"
    with host.changing() as machine:
        machine.use_devicesfile = True
        machine.files[DEVICES] = (
            f"# LVM uses devices listed\nVERSION=1.1.3\n{own}\n{entry}".encode()
        )


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_a_devices_file_that_lists_a_guests_disk_hides_nothing_whatever_the_filter_says(
    host: FakeHost, entry: str
) -> None:
    volume(host)
    hiding.hide_guests(host, Policy(("vg0",)))
    listed(host, entry)
    problem = problems(host)["bcache_scanned"]
    name = entry.split()[1].removeprefix("IDNAME=")
    assert problem["correction"] == f"As root on the host: lvmdevices --deldev {name}"
    with pytest.raises(Refusal, match=f"lists guests' disks .{name}."):
        hiding.hide_guests(host, Policy(("vg0",)))


def test_a_devices_file_that_lists_only_the_hosts_own_hides_guests_without_a_filter(
    host: FakeHost,
) -> None:
    host.root.make_bcache("sdc", "sdb")
    volume(host)
    listed(host, "IDTYPE=devname IDNAME=/dev/bcache0 DEVNAME=/dev/bcache0 PVID=abc")
    assert "bcache_scanned" not in problems(host)
    assert "already" in hiding.hide_guests(host, Policy(("vg0",)))


def test_a_devices_file_that_lists_a_volume_lists_a_guests_disk(host: FakeHost) -> None:
    host.root.add_lv("web12", GIB)
    listed(host, "IDTYPE=devname IDNAME=/dev/vg0/web12 DEVNAME=/dev/vg0/web12 PVID=abc")
    assert not hiding.hides_guests(host)


def test_a_devices_file_that_is_not_in_use_hides_nothing(host: FakeHost) -> None:
    volume(host)
    listed(host, "")
    with host.changing() as machine:
        machine.use_devicesfile = False
    assert problems(host)["bcache_scanned"]["correction"] == HIDE


def test_a_group_that_a_guest_made_on_its_bcache_volume_is_reported(host: FakeHost) -> None:
    volume(host)
    made_by_a_guest(host, "bcache0", 0, major=251)
    problem = problems(host)["foreign_vg_on_guest_disk"]
    assert problem["severity"] == "error"
    assert problem["message"].startswith("VG inside lies on bcache0, which is a guest's disk.")
    assert problem["correction"] == HIDE


def test_such_a_group_cannot_be_allowed(host: FakeHost) -> None:
    volume(host)
    made_by_a_guest(host, "bcache0", 0, major=251)
    with pytest.raises(Refusal, match="on a guest's disk"):
        admin.allow_vg(host, "inside")


def test_a_group_that_a_guest_made_on_its_plain_volume_is_reported(host: FakeHost) -> None:
    lv = host.root.add_lv("web12", GIB)
    assert lv.minor is not None
    made_by_a_guest(host, str(lv.kname), lv.minor)
    problem = problems(host)["foreign_vg_on_guest_disk"]
    assert problem["correction"].startswith("Set devices/scan_lvs=0")
