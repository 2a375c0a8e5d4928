"""Pages and API of kernel gates: what runs, what is chosen, what was lost."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from storage.benchmarks.matrix import TargetKind
from storage.models import Gate
from tests import make
from tests.jobs.benchmarks.gating import (
    NEW,
    OLD,
    finished,
    gate_host,
    looked,
    measured,
    ordered_gate,
    restart,
)
from tests.panel.api.asking import problem, staff
from tests.proven import sign_in

pytestmark = pytest.mark.django_db
LABEL = "hdd, zipf_read, 128 MiB"


@pytest.fixture
def operator(client: Client) -> Client:
    return sign_in(client, make.staff_user(staff_role="operator"))


def page(client: Client, name: str, key: str) -> str:
    response = client.get(reverse(name, args=[key]))
    assert response.status_code == 200
    return response.content.decode()


def test_a_person_chooses_what_a_gate_may_take_once_the_pilot_is_measured(
    operator: Client,
) -> None:
    host = gate_host()
    gate = measured(ordered_gate(host, TargetKind.HDD))
    key = gate.benchmark.key
    assert f"Restart the host into {OLD} once more" in page(operator, "gate", key)
    restart(host, OLD)
    measured(gate)
    text = page(operator, "gate", key)
    assert "a slow-down by 10\xa0% is named in 95\xa0% of all cases" in text
    assert operator.post(reverse("gate-plan", args=[key]), {"slower": "0.3"}).status_code == 422
    assert operator.post(reverse("gate-plan", args=[key]), {"slower": "0.1"}).status_code == 302
    gate.refresh_from_db()
    assert gate.boots_a_side is not None
    body = staff("operator").get(f"/gates/{key}").json()
    assert body["boots_left"] == 2 * gate.boots_a_side
    assert [boot["part"] for boot in body["boots"]] == ["pilot", "pilot"]


def test_a_loss_is_shown_with_its_figures_accepted_and_bisected(operator: Client) -> None:
    host = gate_host()
    first = ordered_gate(host, TargetKind.HDD, boots_a_side=4)
    gate = finished(measured(first), slower=0.2)
    key = gate.benchmark.key
    text = page(operator, "gate", key)
    shown = LABEL.replace("128 MiB", "128\xa0MiB")
    assert f"{NEW} is slower: {shown}: slower by" in text and "IOPS became" in text
    assert f"{NEW} is slower" in page(operator, "host-kernels", host.key)
    assert "Show gates" in page(operator, "host", host.key)
    url = reverse("gate-accept", args=[key])
    assert operator.post(url, {"reason": ""}).status_code == 422
    assert operator.post(url, {"reason": "We stay"}).status_code == 302
    assert "We stay" in page(operator, "gate", key)
    asking = staff("operator")
    shown = asking.get(f"/gates/{key}").json()
    assert (shown["effect"], shown["acceptance"]["reason"]) == ("loss", "We stay")
    assert shown["targets"][0]["is_alarm"] and shown["targets"][0]["q"] < 0.01
    assert asking.send("delete", f"/gates/{key}/acceptance").json()["acceptance"] is None
    kernels = f"{OLD}\n6.5.1\n\n{NEW}"
    sent = {"label": LABEL, "kernels": kernels}
    assert operator.post(reverse("gate-bisect", args=[key]), sent).status_code == 302
    bisect = looked(Gate.objects.latest("pk"))
    assert bisect.kernels == [OLD, "6.5.1", NEW]
    text = page(operator, "gate", bisect.benchmark.key)
    assert "Skip 6.5.1" in text and "Restart the host into 6.5.1" in page(
        operator, "benchmark", bisect.benchmark.key
    )
    path = f"/gates/{bisect.benchmark.key}/skip"
    problem(asking.send("post", path, {"kernel": "6.6"}), 422, "too_late")
    said = asking.send("post", path, {"kernel": "6.5.1"}).json()["sentence"]
    assert "skipped 6.5.1" in said


def test_the_form_of_a_gate_offers_groups_and_refuses_what_cannot_be(operator: Client) -> None:
    assert "No volume group may be used" in operator.get(reverse("gate-new")).content.decode()
    assert operator.post(reverse("gate-new"), {"boots_a_side": "1"}).status_code == 422
    assert "No kernels compared yet" in page(operator, "host-kernels", gate_host().key)
