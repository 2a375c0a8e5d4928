"""A fault of a kernel that an administrator accepts for one host, and takes back."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from storage.health import accepted_faults
from storage.health.accepted_faults import faults_with_decisions
from storage.inventory.facts import KernelIdentity
from storage.models import Host
from storage.planner import Refused
from tests import make

pytestmark = pytest.mark.django_db
CODE = "bcache_bvec_5_15"
FACTS = make.facts(kernel=KernelIdentity("5.15.2"))


def refusing(host: Host) -> list[str]:
    listed = faults_with_decisions(host, FACTS)
    return [each.present.fault.code for each in listed if each.is_refusing]


def test_an_accepted_fault_names_who_and_why_and_refuses_no_more() -> None:
    host, other = make.host(), make.host()
    assert refusing(host) == [CODE]
    at = timezone.now()
    accepted_faults.accept_fault(host, CODE, "ada@example.org", "a test machine", at)
    host.refresh_from_db()
    assert refusing(host) == [] and refusing(other) == [CODE]
    first = faults_with_decisions(host, FACTS)[0]
    assert first.accepted == {
        "at": at.isoformat(), "by": "ada@example.org", "reason": "a test machine",
    }  # fmt: skip
    assert first.effect == "data loss"
    accepted_faults.revoke_acceptance(host, CODE)
    assert refusing(host) == [CODE]


def test_the_history_of_the_host_has_both() -> None:
    host = make.host()
    accepted_faults.accept_fault(host, CODE, "ada@example.org", "why", timezone.now())
    accepted_faults.revoke_acceptance(host, CODE)
    tracked: Any = host
    before = [event.accepted_faults for event in tracked.events.order_by("pgh_id")][-2:]
    assert [list(each) for each in before] == [[], [CODE]]


@pytest.mark.parametrize("code", ["dm_cache_full", "no_such_fault", ""])
def test_what_refuses_nothing_cannot_be_accepted(code: str) -> None:
    host = make.host()
    with pytest.raises(Refused, match="refuses nothing"):
        accepted_faults.accept_fault(host, code, "ada@example.org", "why", timezone.now())
    assert host.accepted_faults == {}


def test_what_is_not_accepted_cannot_be_taken_back() -> None:
    with pytest.raises(Refused, match="not accepted"):
        accepted_faults.revoke_acceptance(make.host(), CODE)
