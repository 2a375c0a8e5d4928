"""The history of a host: what changed when, what a new kernel did, and faults that are accepted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from storage.discovery.ingest import apply_facts
from storage.inventory.facts import KernelIdentity
from storage.models import Host, HostChange
from tests import make
from tests.proven import sign_in
from tests.scene import Scene, scene

pytestmark = pytest.mark.django_db
CODE = "bcache_bvec_5_15"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def admin(client: Client) -> Client:
    return sign_in(client, make.staff_user())


def on_kernel(release: str) -> Scene:
    there = scene(make.lv())
    facts = make.facts(there.lv, kernel=KernelIdentity(release))
    apply_facts(there.host, make.inventory(facts), timezone.now())
    return there


def page(client: Client, host: Host, **query: object) -> str:
    response = client.get(reverse("host-history", args=[host.key]), query)
    assert response.status_code == 200
    return response.content.decode()


def change(host: Host, kind: str, minutes_ago: float = 5, **fields: Any) -> HostChange:
    at = timezone.now() - timedelta(minutes=minutes_ago)
    return HostChange.objects.create(host=host, kind=kind, at=at, **fields)


def accept(client: Client, host: Host, **data: str) -> Any:
    url = reverse("host-fault-accept", args=[host.key])
    sent = {"fault": CODE, "reason": "a test machine", "confirm_code": CODE, **data}
    return client.post(url, sent)


def test_the_time_line_lists_changes_newest_first(admin: Client) -> None:
    host = scene().host
    change(host, "boot", 60, after="6.1.0-37-amd64", count=3)
    change(host, "disk_gone", 5, subject="SERIAL-7", before="ST1 1 TiB")
    change(scene().host, "lvm", before="2.03.16", after="2.03.31")
    text = page(admin, host)
    assert text.index("SERIAL-7") < text.index("Restart")
    assert "3 times" in text and "2.03.31" not in text


def test_a_host_that_never_changed_says_what_will_be_here(admin: Client) -> None:
    assert "No events yet" in page(admin, scene().host)


def test_the_time_line_comes_as_csv(admin: Client) -> None:
    host = scene().host
    change(host, "kernel", before="=6.1", after="6.12")
    response = admin.get(reverse("host-history", args=[host.key]), {"format": "csv"})
    lines = response.content.decode().splitlines()
    assert lines[0] == "at,kind,subject,before,after,count,effect"
    assert "kernel" in lines[1] and ",'=6.1," in lines[1]


def test_text_of_the_host_is_escaped(admin: Client) -> None:
    there = on_kernel(f"5.15.2-{HOSTILE}")
    change(there.host, "disk_added", subject=HOSTILE, before=HOSTILE, after=HOSTILE)
    assert HOSTILE not in page(admin, there.host)


def test_a_restart_into_another_kernel_offers_the_comparison(admin: Client) -> None:
    host = scene().host
    made = change(host, "kernel", before="6.1", after="6.12")
    assert f"compare={made.pk}" in page(admin, host)
    assert "Each side needs a whole day" in page(admin, host, compare=made.pk)
    for number in ("0", "x", "9" * 30, str(change(host, "boot").pk)):
        url = reverse("host-history", args=[host.key])
        assert admin.get(url, {"compare": number}).status_code == 404


def lost(host: Host) -> HostChange:
    """A restart that is known to have made the host slower."""
    figures = {"times": [1.3, 1.2, 1.4], "hours": 30, "days": 2, "average_ms": [2.0, 2.6]}
    fields = {"before": "6.1", "after": HOSTILE, "effect": "loss", "figures": figures}
    return change(host, "kernel", 3 * 24 * 60, **fields)


def test_a_loss_is_shown_unasked_and_a_person_accepts_it_and_takes_that_back(
    admin: Client,
) -> None:
    host = scene().host
    made = lost(host)
    text = page(admin, host)
    assert "Each side needs" in text or "Not enough data" in text
    assert "Slower" in text and "Accept the loss" in text and HOSTILE not in text
    url = reverse("host-loss-accept", args=[host.key, made.pk])
    refused = admin.post(url, {"reason": ""})
    assert refused.status_code == 422 and "Enter a reason" in refused.content.decode()
    assert admin.post(url, {"reason": "Mitigations stay on"}).status_code == 302
    made.refresh_from_db()
    assert made.acceptance["reason"] == "Mitigations stay on" and "@" in made.acceptance["by"]
    text = page(admin, host)
    assert "Mitigations stay on" in text and "accepted" in text
    assert admin.post(reverse("host-loss-revoke", args=[host.key, made.pk])).status_code == 302
    assert "Accept the loss" in page(admin, host)
    assert admin.post(reverse("host-loss-revoke", args=[host.key, made.pk])).status_code == 422


def test_a_restart_that_brought_no_loss_has_nothing_to_accept(admin: Client) -> None:
    host = scene().host
    made = change(host, "kernel", 3 * 24 * 60, before="6.1", after="6.12")
    assert "Accept the loss" not in page(admin, host, compare=made.pk)
    url = reverse("host-loss-accept", args=[host.key, made.pk])
    assert admin.post(url, {"reason": "x"}).status_code == 422


def test_a_fault_that_refuses_is_shown_with_reason_and_link(admin: Client) -> None:
    text = page(admin, on_kernel("5.15.2").host)
    assert "Kernel 5.15.2: The first kernels 5.15 break" in text
    assert 'href="https://github.com/NixOS/nixpkgs/issues/146384"' in text
    assert "New plans that rely on it are refused." in text and "Accept the risk" in text


def test_a_slow_kernel_is_a_notice_and_nothing_to_accept(admin: Client) -> None:
    text = page(admin, on_kernel("6.1.119").host)
    assert "Slowness (bcache)" in text and "Accept the risk" not in text


def test_a_kernel_without_known_faults_says_so(admin: Client) -> None:
    assert "No known faults" in page(admin, on_kernel("6.16.4").host)


def test_an_admin_accepts_a_fault_and_takes_it_back(admin: Client) -> None:
    host = on_kernel("5.15.2").host
    assert accept(admin, host).status_code == 302
    text = page(admin, host)
    assert "a test machine" in text and "Withdraw acceptance" in text
    host.refresh_from_db()
    assert list(host.accepted_faults) == [CODE]
    settings = admin.get(reverse("host-settings", args=[host.key])).content.decode()
    assert f"accepted faults: - → {CODE}: a test machine" in settings
    admin.post(reverse("host-fault-revoke", args=[host.key]), {"fault": CODE})
    assert "New plans that rely on it are refused." in page(admin, host)


@pytest.mark.parametrize("wrong", [{"reason": ""}, {"confirm_code": "bcache_gcc9"}])
def test_without_reason_or_with_another_code_nothing_is_accepted(
    admin: Client, wrong: dict[str, str]
) -> None:
    host = on_kernel("5.15.2").host
    assert accept(admin, host, **wrong).status_code == 422
    host.refresh_from_db()
    assert host.accepted_faults == {}


def test_an_operator_sees_why_he_may_not(client: Client) -> None:
    sign_in(client, make.staff_user(staff_role="operator"))
    host = on_kernel("5.15.2").host
    assert "Requires the admin role." in page(client, host)
    assert accept(client, host).status_code == 403
