"""How many volumes may be destroyed in an hour."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from storage.agent.calls.call import VerbCall
from storage.agent.calls.refusals import Refusal
from storage.agent.facts.view import View
from storage.agent.state import policy
from storage.agent.verbs import destroy
from tests.fake import FakeHost

HOUR_SECONDS = 3600


@pytest.fixture
def host(make_fake_host: Callable[..., FakeHost]) -> FakeHost:
    found = make_fake_host()
    found.save(policy.PATH, json.dumps({"vgs": ["vg0"], "destroy_per_hour": 2}).encode())
    return found


def destroyed(
    host: FakeHost, lv_uuid: str, verb: str = destroy.DESTROY.name, **changes: object
) -> None:
    """A record of what was destroyed just now."""
    record = {
        "call": {"verb": verb, "args": {}, "expect": {"lv_uuid": lv_uuid}},
        "state": "done",
        "commands": [{"started_ns": 1}],
        "boot_id": host.machine.boot_id,
        "started_ns": host.wall_ns(),
        "started_boottime_ns": host.boottime_ns(),
    }
    host.op_create(f"{len(host.op_ids())}", {**record, **changes})


def check(host: FakeHost, lv_uuid: str) -> None:
    destroy.within_quota(View(host), VerbCall(destroy.DESTROY.name, {}, {"lv_uuid": lv_uuid}))()


def test_the_quota_is_for_an_hour(host: FakeHost) -> None:
    destroyed(host, "A")
    check(host, "C")
    destroyed(host, "B")
    with pytest.raises(Refusal, match="quota") as refused:
        check(host, "C")
    assert "destroy_per_hour" in refused.value.correction
    host.advance(HOUR_SECONDS + 1)
    check(host, "C")


def test_the_same_volume_counts_once_and_other_operations_do_not_count(host: FakeHost) -> None:
    for _ in range(3):
        destroyed(host, "A")
    destroyed(host, "X", verb="volume.retire")
    destroyed(host, "Y", commands=[])
    check(host, "B")
    destroyed(host, "B")
    check(host, "B")
    check(host, "A")


def test_of_many_at_once_only_so_many_pass_and_they_stay_let_through(host: FakeHost) -> None:
    for volume in "ABC":
        destroyed(host, volume)
        host.advance(1)
    check(host, "B")
    with pytest.raises(Refusal, match="quota"):
        check(host, "C")
    host.advance(2 * HOUR_SECONDS)
    for volume in "DE":
        destroyed(host, volume)
    check(host, "B")


def test_a_restart_of_the_host_does_not_give_a_new_quota(host: FakeHost) -> None:
    destroyed(host, "A")
    destroyed(host, "B")
    host.root.reboot()
    with pytest.raises(Refusal, match="quota"):
        check(host, "C")


def test_a_quota_of_nothing_destroys_nothing(host: FakeHost) -> None:
    host.save(policy.PATH, json.dumps({"vgs": ["vg0"], "destroy_per_hour": 0}).encode())
    with pytest.raises(Refusal, match="quota"):
        check(host, "A")


def test_what_was_refused_or_stopped_before_its_first_command_does_not_count(
    host: FakeHost,
) -> None:
    unbegun = [{"started_ns": None}]
    destroyed(host, "A")
    destroyed(host, "B", state="running", commands=unbegun)
    host.advance(1)
    destroyed(host, "C", state="failed", commands=unbegun)
    with pytest.raises(Refusal, match="quota"):
        check(host, "C")
    host.advance(HOUR_SECONDS + 1)
    # It waited as the refusal said: the volumes before its first request no longer count.
    check(host, "C")
    for volume in "DE":
        destroyed(host, volume)
    # Nor does a request that was stopped at once let its volume through for later.
    with pytest.raises(Refusal, match="quota"):
        check(host, "C")
