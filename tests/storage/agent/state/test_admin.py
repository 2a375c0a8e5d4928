"""What root decides on the host itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from storage.agent.calls.refusals import Refusal
from storage.agent.state import admin, policy

from ..facts.replay import ReplayHost


def saved(host: ReplayHost) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(host.recorded["read"][policy.PATH])
    return document


def observing() -> ReplayHost:
    host = ReplayHost("host-cached")
    host.recorded["read"].pop(policy.PATH, None)
    return host


def test_allowing_a_volume_group_says_what_is_allowed_now() -> None:
    host = observing()
    assert "vg0" in admin.allow_vg(host, "vg0")
    rest = {
        "alone": [],
        "fast_pvs": [],
        "slow_pvs": [],
        "redundant_pvs": [],
        "destroy_per_hour": 5,
        "undo_hours": 24,
        "others_rise_percent": 20,
        "clear_freed": True,
        "replace_members": False,
        "heat": True,
        "heat_cpu_percent": 2,
        "benchmark_bytes": 0,
    }
    now = saved(host)
    assert list(now.pop("vg_uuids")) == ["vg0"]
    assert now == {"vgs": ["vg0"], **rest}
    admin.allow_vg(host, "vg0")
    assert saved(host)["vgs"] == ["vg0"]


@pytest.mark.parametrize("name", ["nope", "", "../vg0", "-y", "vg0\n"])
def test_an_unknown_volume_group_is_refused_with_the_ones_that_exist(name: str) -> None:
    host = observing()
    with pytest.raises(Refusal) as refused:
        admin.allow_vg(host, name)
    assert refused.value.code == "not_found"
    assert "vg0" in refused.value.correction
    assert policy.PATH not in host.recorded["read"]


def test_denying_the_last_volume_group_is_observe_only_again() -> None:
    host = observing().allow("vg0")
    assert "Observe-only" in admin.deny_vg(host, "vg0")
    assert saved(host)["vgs"] == []


def test_the_policy_says_what_may_be_destroyed() -> None:
    host = observing()
    document = {"vgs": ["vg0"], "destroy_per_hour": 3, "undo_hours": 72}
    document |= {"others_rise_percent": 50, "clear_freed": False}
    host.recorded["read"][policy.PATH] = json.dumps(document)
    shown = admin.show_policy(host)
    assert "destroy 3 in an hour" in shown and "72 h after" in shown
    assert "is not cleared" in shown


def test_root_allows_disks_to_be_put_into_arrays_and_takes_that_back() -> None:
    host = observing()
    assert "may not put" in admin.show_policy(host)
    assert "it may put an unused disk" in admin.set_replacement(host, allowed=True)
    assert saved(host)["replace_members"] is True
    assert "may not put" in admin.set_replacement(host, allowed=False)
    assert saved(host)["replace_members"] is False


def test_root_allows_benchmarks_some_space_and_takes_that_back() -> None:
    host = observing()
    assert policy.load_policy(host).benchmark_bytes == 0, "unless root says so, none runs"
    assert "scratch volumes of 50 GiB in all" in admin.allow_benchmarks(host, "50")
    assert policy.load_policy(host).benchmark_bytes == 50 << 30
    admin.allow_benchmarks(host)
    assert policy.load_policy(host).benchmark_bytes == 20 << 30
    for wrong in ("0", "-1", "x", "1.5", "99999999"):
        with pytest.raises(Refusal, match="no whole number of GiB"):
            admin.allow_benchmarks(host, wrong)
    assert "may not run benchmarks" in admin.deny_benchmarks(host)
    assert policy.load_policy(host).benchmark_bytes == 0


def test_what_the_operator_says_is_kept() -> None:
    host = observing()
    pvs = {"fast_pvs": ["md0"], "slow_pvs": ["sdc"]}
    document = {"vgs": [], **pvs, "destroy_per_hour": 1, "undo_hours": 72}
    document |= {"others_rise_percent": 20, "clear_freed": False, "replace_members": True}
    document |= {"heat": False, "heat_cpu_percent": 5, "benchmark_bytes": 3 << 30}
    host.recorded["read"][policy.PATH] = json.dumps(document)
    admin.allow_vg(host, "vg0")
    now = saved(host)
    assert list(now.pop("vg_uuids")) == ["vg0"]
    assert now == {**document, "vgs": ["vg0"], "alone": [], "redundant_pvs": []}


@pytest.mark.parametrize(
    "text",
    [
        "garbage",
        "[]",
        '{"vg":[]}',
        '{"vgs":"vg0"}',
        '{"vgs":["/"]}',
        '{"others_rise_percent":0}',
        '{"clear_freed":1}',
        '{"replace_members":"yes"}',
        '{"destroy_per_hour":-1}',
        '{"destroy_per_hour":true}',
        '{"undo_hours":"24"}',
    ],
)
def test_a_file_that_cannot_be_understood_allows_nothing_and_is_not_overwritten(text: str) -> None:
    host = observing()
    host.recorded["read"][policy.PATH] = text
    assert policy.load_policy(host).vgs == ()
    assert policy.load_policy(host).broken
    with pytest.raises(Refusal):
        admin.allow_vg(host, "vg0")
    assert host.recorded["read"][policy.PATH] == text
