"""A guest with a disk of its own names its volume group as the host's is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from storage.agent.calls.refusals import Refusal
from storage.agent.guests import hiding
from storage.agent.operations.boot import boot
from storage.agent.state import admin, policy
from tests.contract.client import Agent
from tests.fake import FakeHost
from tests.fake.lvmfilter import global_filter
from tests.fake.parts import GIB, Disk, Lv, Pv, Run, Vg

WWN = "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4"


@pytest.fixture
def host(make_fake_host: Callable[..., FakeHost]) -> FakeHost:
    """Root has allowed vg0; guest web1 has sde for itself, with a group vg0 of its own on it."""
    host = make_fake_host(sees_guests=True)
    admin.allow_vg(host, "vg0")
    with host.changing() as machine:
        disk = Disk("sde", 8 * GIB, True, serial="hdd9", minor=64)
        machine.disks.append(disk)
        machine.links[WWN] = "../../sde"
        pv = Pv(disk, machine.lvm_uuid())
        machine.vgs.append(Vg("vg0", machine.lvm_uuid(), [pv]))
        machine.vgs[-1].lvs.append(
            Lv(machine.vgs[-1], machine.lvm_uuid(), "root", GIB, [Run(pv, 0, 256)])
        )
    host.root.guest("web1", "/dev/sde")
    return host


def problems(agent: Agent) -> dict[str, dict[str, Any]]:
    return {each["code"]: each for each in agent.data("hello")["problems"]}


def test_it_is_reported_with_the_guest_and_with_what_keeps_lvm_away(
    host: FakeHost, agent: Agent
) -> None:
    problem = problems(agent)["foreign_vg_on_guest_disk"]
    assert "lies on sde, which qemu web1 has for itself" in problem["message"]
    assert (problem["severity"], problem["correction"]) == ("error", policy.HIDE)
    assert "vgrename" not in problem["correction"]


def test_a_job_names_the_cure_that_leaves_the_guest_its_group(host: FakeHost, agent: Agent) -> None:
    reply = agent.ask("volume.create", *agent.call("volume.create", agent.volume_args()))
    assert (reply["error"]["code"], reply["error"]["correction"]) == ("unsupported", policy.HIDE)


def test_one_command_keeps_lvm_away_and_jobs_go_on(host: FakeHost, agent: Agent) -> None:
    said = hiding.hide_guests(host, policy.load_policy(host))
    assert f"r|^{WWN}|" in global_filter(host.machine)
    assert "now ignores guests' disks" in said
    assert "foreign_vg_on_guest_disk" not in problems(agent)
    agent.do("volume.create", agent.volume_args())
    again = hiding.hide_guests(host, policy.load_policy(host))
    assert "already" in again and f"r|^{WWN}|" in global_filter(host.machine)


def test_a_filter_of_roots_own_is_reported_with_the_entry_that_it_lacks(host: FakeHost) -> None:
    host.save(hiding.LOCAL, b'devices { global_filter = [ "r|/dev/sr0|" ] }\n')
    with pytest.raises(Refusal, match="sets global_filter itself") as refused:
        hiding.hide_guests(host, policy.load_policy(host))
    assert f'"r|^{WWN}|"' in refused.value.correction


def test_where_the_filter_lets_that_disk_in_by_another_name_it_is_left_as_it_was(
    host: FakeHost,
) -> None:
    with host.changing() as machine:
        machine.global_filter = ("a|^/dev/sd.*|", "r|.*|")
    with pytest.raises(Refusal, match="by another of their names"):
        hiding.hide_guests(host, policy.load_policy(host))
    assert global_filter(host.machine) == ["a|^/dev/sd.*|", "r|.*|"]


def test_a_devices_file_that_lists_that_disk_names_its_entry(host: FakeHost) -> None:
    with host.changing() as machine:
        machine.use_devicesfile = True
        machine.files["/etc/lvm/devices/system.devices"] = (
            b"IDTYPE=sys_wwid IDNAME=naa.5000 DEVNAME=/dev/sde PVID=abc"
            b"\nIDTYPE=sys_wwid IDNAME=naa.5001 DEVNAME=/dev/sdc PVID=def"
        )
    with pytest.raises(Refusal, match="lists guests' disks") as refused:
        hiding.hide_guests(host, policy.load_policy(host))
    assert refused.value.correction == "As root on the host: lvmdevices --deldev /dev/sde"


def test_of_two_groups_of_the_host_the_other_one_is_named(host: FakeHost, agent: Agent) -> None:
    host.root.end(host.machine.processes[0])
    problem = problems(agent)["two_groups_named"]
    assert problem["severity"] == "error"
    assert host.machine.vgs[1].uuid in problem["correction"]
    assert "foreign_vg_on_guest_disk" not in problems(agent)


def test_a_group_that_root_named_by_its_uuid_is_no_guests_even_if_a_guest_opens_its_disk(
    host: FakeHost, agent: Agent
) -> None:
    host.root.guest("web2", "/dev/sdc")
    assert {vg["uuid"]: vg["left_out"] for vg in agent.inventory()["vgs"]} == {
        host.machine.vgs[0].uuid: False,
        host.machine.vgs[1].uuid: True,
    }


def test_no_uuid_is_noted_of_a_name_that_two_groups_have(host: FakeHost) -> None:
    host.root.end(host.machine.processes[0])
    host.save(policy.PATH, b'{"vgs": ["vg0"]}')
    boot(host)
    assert policy.load_policy(host).vg_uuids == {}
