"""What the panel adds to the problems that a host tells."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from jobs.hosts.refresh import _observed_problems, _reported_problems, refresh
from jobs.models import Kind, State
from jobs.problems import problems_of
from jobs.transport.replies import Reply
from storage.agent import VERSION
from storage.byte_sizes import GIB
from storage.database_clock import database_now
from storage.models import Host, HostChange
from storage.naming import cache_device_name, new_key
from storage.planner.wish import Bcache, Wish
from tests import make
from tests.fake.host import FakeHost
from tests.jobs.engine.test_end_to_end import (
    CSET,
    done,
    enrolled,
    fake_host,
    fake_server,
    make_fake_host,
    new_volume,
)

__all__ = ["enrolled", "fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db


def codes(*problems: str) -> list[str]:
    """Of a host that allows no volume group and tells these problems."""
    now = database_now()
    data: dict[str, Any] = {"agent": VERSION, "policy": {"vgs": []}}
    data["problems"] = [
        {"code": code, "severity": "error", "message": "", "correction": ""} for code in problems
    ]
    reply = Reply(data, {"wall_ns": int(now.timestamp() * 1e9)})
    return [problem["code"] for problem in _observed_problems(reply, now, now)]


def test_a_broken_policy_is_not_called_observe_only() -> None:
    assert codes() == codes("bcache_scanned") == ["observe_only"]
    assert codes("policy_broken") == []


def test_a_subject_that_is_too_long_is_cut_and_the_rest_of_hello_is_kept() -> None:
    reported = [
        {"code": "x", "severity": "error", "message": "m", "correction": "c", "subject": "v" * 400},
        {"code": "y", "severity": "error", "message": "m", "correction": "c"},
    ]
    reply = Reply({"problems": reported, "policy": {"vgs": []}}, {})
    problems = _reported_problems(make.host(), reply)
    assert [each["subject"] for each in problems] == ["v" * 255, ""]


# --- What changes between two rounds -------------------------------------------------------------


def test_a_restart_into_another_kernel_is_one_row_and_one_mark(
    enrolled: Host, fake_host: FakeHost, client: Client
) -> None:
    assert refresh(enrolled) and not HostChange.objects.exists()
    fake_host.root.reboot()
    with fake_host.changing() as machine:
        machine.kernel, machine.kernel_version = "6.12.57+deb13-amd64", "#1 SMP Debian 6.12.57-1"
    for _ in range(3):
        enrolled.refresh_from_db()
        assert refresh(enrolled)
    change = HostChange.objects.get()
    assert (change.kind, change.before) == ("kernel", "6.1.0-37-amd64 (6.1.140)")
    assert change.after == "6.12.57+deb13-amd64"
    client.force_login(make.staff_user())
    (mark,) = client.get(reverse("host-marks", args=[enrolled.key])).json()["marks"]
    assert mark["label"] == f"{enrolled.name}: new kernel"


def test_a_disk_that_is_pulled_and_put_back_is_two_rows(
    enrolled: Host, fake_host: FakeHost
) -> None:
    with fake_host.changing() as machine:
        pulled = machine.disks.pop()
    assert refresh(enrolled)
    with fake_host.changing() as machine:
        machine.disks.append(pulled)
    assert refresh(enrolled) and refresh(enrolled)
    kinds = list(HostChange.objects.order_by("pk").values_list("kind", flat=True))
    assert kinds == ["disk_gone", "disk_added"]


def test_caches_on_a_kernel_that_loses_them_are_a_problem_of_the_host(
    enrolled: Host, fake_host: FakeHost
) -> None:
    volume = new_volume(enrolled, "bcache")
    wish = Wish(GIB, layout="bcache", cache=Bcache(cache_device_name(new_key()), CSET, GIB))
    assert done(Kind.CREATE_VOLUME, volume, wish).state == State.SUCCEEDED
    with fake_host.changing() as machine:
        machine.kernel, machine.kernel_version = "5.15.2", "#1 SMP"
    assert refresh(enrolled)
    problems = problems_of([enrolled.pk], database_now())[enrolled.pk]
    (problem,) = [each for each in problems if each.code == "kernel_data_loss"]
    assert (problem.severity, problem.rank) == ("error", 0)
    with fake_host.changing() as machine:
        machine.kernel = "5.15.3"
    assert refresh(enrolled)
    problems = problems_of([enrolled.pk], database_now())[enrolled.pk]
    assert "kernel_data_loss" not in [each.code for each in problems]
