from __future__ import annotations

from collections.abc import Callable

import pytest

from storage.agent.facts import hello as hello_module
from storage.agent.facts.hello import hello
from storage.agent.state import policy
from tests.contract.client import Agent
from tests.contract.fake_world import FakeWorld
from tests.fake import FakeHost


@pytest.mark.parametrize(
    ("lacks", "code", "word"),
    [("has_systemd", "no_systemd", "busctl"), ("has_bus", "no_dbus", "Failed to connect")],
)
def test_a_host_that_cannot_start_operations_says_so_before_and_when_asked(
    make_fake_host: Callable[..., FakeHost], lacks: str, code: str, word: str
) -> None:
    host = make_fake_host()
    agent = Agent(FakeWorld(host))
    assert code not in {problem["code"] for problem in hello(host)["problems"]}
    with host.changing() as machine:
        setattr(machine, lacks, False)
    assert code in {problem["code"] for problem in hello(host)["problems"]}
    args, expect = agent.call("volume.create", agent.volume_args())
    with agent.unchanged():
        error = agent.ask("volume.create", args, expect)["error"]
    assert error["code"] == "internal" and word in error["message"]


def test_a_policy_that_cannot_be_read_is_reported_first_with_its_error(
    make_fake_host: Callable[..., FakeHost],
) -> None:
    host = make_fake_host()
    with host.changing() as machine:
        machine.files[policy.PATH] = b'{\n  "vgs": ["vg0"],\n}\n'
    problem = hello(host)["problems"][0]
    assert (problem["code"], problem["severity"]) == ("policy_broken", "error")
    assert "line 3" in problem["message"]
    assert f"{policy.AGENT} policy" in problem["correction"]
    assert "allow-vg" not in problem["correction"]


def test_an_ssd_in_a_group_of_its_own_is_no_use_to_bcache_either(
    make_fake_host: Callable[..., FakeHost],
) -> None:
    (problem,) = [
        problem
        for problem in hello(make_fake_host(split_vgs=True))["problems"]
        if problem["code"] == "split_vgs"
    ]
    assert "a cache and its volume must lie in one VG" in problem["message"]
    assert "vgmerge, offline" in problem["correction"] and "bcache" not in problem["correction"]


def test_a_host_says_that_it_has_many_volumes_before_nothing_of_it_can_be_read(
    make_fake_host: Callable[..., FakeHost], monkeypatch: pytest.MonkeyPatch
) -> None:
    host = make_fake_host()
    codes = {problem["code"] for problem in hello(host)["problems"]}
    assert "inventory_large" not in codes
    monkeypatch.setattr(hello_module, "REPLY_LIMIT", 2000)
    (problem,) = [each for each in hello(host)["problems"] if each["code"] == "inventory_large"]
    assert problem["severity"] == "warning"


def test_a_host_whose_root_lvm_fills_with_old_states_says_so_before_it_is_full(
    make_fake_host: Callable[..., FakeHost],
) -> None:
    host = make_fake_host()
    with host.changing() as machine:
        machine.archive_kib = 3 << 20
    (problem,) = [each for each in hello(host)["problems"] if each["code"] == "lvm_archive_large"]
    assert "holds 3072 MiB" in problem["message"] and "retain_days" in problem["correction"]
