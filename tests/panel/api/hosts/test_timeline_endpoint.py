"""What a restart into another kernel changed, as programs read it."""

from __future__ import annotations

from typing import Any

import pytest

from panel.api.hosts import timeline_endpoint
from storage.models import HostChange
from tests import make
from tests.panel.api.asking import problem, staff
from tests.storage.analysis.test_restart_comparison import NOW, around, load, restart

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_endpoint.timezone, "now", lambda: NOW)


def compared(change: HostChange) -> Any:
    asking = staff("read_only")
    [event] = asking.get(f"/hosts/{change.host.key}/events", kind="kernel").json()["items"]
    return asking.get(f"/hosts/{change.host.key}/events/{event['number']}/comparison")


def test_the_days_before_and_after_a_restart_into_another_kernel_are_compared() -> None:
    change = restart(make.host())
    before, after = around(change)
    load(change.host, before, 8 * 24, ms=2.0)
    load(change.host, after, 3 * 24, ms=8.0)
    body = compared(change).json()
    assert (body["kernel_before"], body["kernel_after"]) == ("6.1", "6.12")
    assert (body["days"], body["verdict"], body["lacks"]) == (3, "worse", "")
    assert body["times_low"] < body["times"] < body["times_high"]
    assert body["times"] == pytest.approx(4, rel=0.05)
    assert body["before"]["average_ms"] == pytest.approx(2, rel=0.05)
    assert body["before"]["iops"] == body["after"]["iops"] == pytest.approx(1)
    for name in ("p95_ms", "p99_ms"):
        assert body["before"][name] < body["after"][name]
    assert "slower" in body["sentence"]


def test_what_is_too_new_to_be_compared_says_so() -> None:
    body = compared(restart(make.host(), days_ago=0.5)).json()
    assert (body["before"], body["after"], body["times"], body["verdict"]) == (None,) * 4
    assert "whole day" in body["lacks"]


def test_only_a_restart_of_this_host_into_another_kernel_is_compared() -> None:
    change, asking = restart(make.host()), staff()
    boot = HostChange.objects.create(host=change.host, at=change.at, kind="boot")
    other = make.host()
    for host, number in ((change.host, boot.pk), (other, change.pk), (change.host, "x")):
        path = f"/hosts/{host.key}/events/{number}/comparison"
        problem(asking.get(path), 404, "not_found")


def test_a_program_accepts_a_loss_and_takes_that_back() -> None:
    change, asking = restart(make.host()), staff("operator")
    path = f"/hosts/{change.host.key}/events/{change.pk}/acceptance"
    problem(asking.send("put", path, {"reason": "x"}), 422, "absent")
    HostChange.objects.update(effect="loss")
    body = asking.send("put", path, {"reason": "Mitigations stay on"}).json()
    assert (body["effect"], body["acceptance"]["reason"]) == ("loss", "Mitigations stay on")
    [event] = asking.get(f"/hosts/{change.host.key}/events").json()["items"]
    assert event["acceptance"] == body["acceptance"]
    assert asking.send("delete", path).json()["acceptance"] is None
    problem(asking.send("delete", path), 422, "absent")
