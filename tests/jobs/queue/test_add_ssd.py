"""An SSD is added to a volume group: the page, its preview, the job and its audit trail."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from jobs.models import AuditEntry, Job, Kind, Phase, State, StepState
from jobs.queue.submit import Busy, submit_for_host
from jobs.requester import Requester
from storage.models import Host
from storage.planner.ssd_wish import Preparation
from tests import make
from tests.fake import FakeHost
from tests.fake.fixtures import fake_host, fake_server, make_fake_host
from tests.fake.parts import GIB, Disk
from tests.jobs.engine.test_end_to_end import enrolled
from tests.jobs.engine.test_runner import run
from tests.proven import is_asked, prove
from tests.scene import Scene, end, scene, step

__all__ = ["enrolled", "fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db
NO_PERSON = Requester(None, None)
SSD = make.disk("sde", rotational=False, serial="ssd2", size_bytes=4 * GIB)
WANTED = Preparation("sde", "ssd2", make.VG_UUID, "vg0")
TYPED = {"device": "sde", "vg": "vg0", "serial": "ssd2"}


@pytest.fixture
def there() -> Scene:
    return scene(disks=(SSD,))


def signed_in(client: Client, role: str = "admin") -> Client:
    client.force_login(make.staff_user(staff_role=role))
    return client


def post(client: Client, there: Scene, **typed: str) -> Any:
    return client.post(reverse("host-ssd", args=[there.host.key]), {**TYPED, **typed})


def test_the_host_s_page_leads_to_the_form_and_the_form_to_a_preview(
    client: Client, there: Scene
) -> None:
    admin = signed_in(client)
    path = reverse("host-ssd", args=[there.host.key])
    assert path in admin.get(reverse("host", args=[there.host.key])).content.decode()
    assert "sde · 4\xa0GiB" in admin.get(path).content.decode()
    assert post(admin, there).status_code == 302
    preview = Job.objects.get()
    assert (preview.kind, preview.dry_run, preview.volume) == (Kind.PREPARE_SSD, True, None)
    assert Preparation.from_json(preview.wish) == WANTED


@pytest.mark.parametrize("typed", [{"serial": "ssd3"}, {"device": "sdc"}, {"vg": "vg1"}])
def test_another_serial_number_device_or_group_is_no_preview(
    client: Client, there: Scene, typed: dict[str, str]
) -> None:
    assert post(signed_in(client), there, **typed).status_code == 422
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"disks": ()}, "No unused SSD found on this host."),
        (
            {"disks": (SSD,), "vgs": (make.vg(allowed=False),)},
            "Root on the host has not allowed any volume group.",
        ),
    ],
)
def test_without_a_spare_ssd_or_an_allowed_group_the_page_says_why_not(
    client: Client, facts: dict[str, Any], why: str
) -> None:
    there = scene(**facts)
    answer = post(signed_in(client), there)
    assert (answer.status_code, Job.objects.exists()) == (422, False)
    assert why in answer.content.decode()


def test_an_operator_neither_sees_the_form_nor_confirms_a_preview(
    client: Client, there: Scene
) -> None:
    operator = signed_in(client, "operator")
    assert post(operator, there).status_code == 403
    preview = submit_for_host(there.host, WANTED, NO_PERSON, dry_run=True)
    end(preview)
    assert operator.post(reverse("preview-apply", args=[preview.key])).status_code == 403


def test_an_admin_confirms_it_with_a_fresh_proof(client: Client, there: Scene) -> None:
    admin = make.staff_user()
    client.force_login(admin)
    preview = submit_for_host(there.host, WANTED, NO_PERSON, dry_run=True)
    step(preview, verb="ssd.prepare", title="Make sde a physical volume of vg0")
    end(preview, fingerprint="f" * 64)
    apply = reverse("preview-apply", args=[preview.key])
    assert is_asked(client.post(apply))
    prove(client, admin)
    assert client.post(apply).status_code == 302
    job = Job.objects.get(dry_run=False)
    assert (job.kind, job.wish, job.fingerprint) == (preview.kind, preview.wish, "f" * 64)
    for name in ("job", "job-status"):
        assert "sde" in client.get(reverse(name, args=[job.key])).content.decode()
    assert "SSD of vg0" in client.get(reverse("job", args=[preview.key])).content.decode()
    assert "sde" in client.get(reverse("jobs")).content.decode()


def test_one_ssd_at_a_time_is_added_to_a_host(there: Scene) -> None:
    first = submit_for_host(there.host, WANTED, NO_PERSON, dry_run=False)
    with pytest.raises(Busy) as busy:
        submit_for_host(there.host, WANTED, NO_PERSON, dry_run=False)
    assert busy.value.job == first
    submit_for_host(there.host, WANTED, NO_PERSON, dry_run=True)
    end(first)
    submit_for_host(there.host, WANTED, NO_PERSON, dry_run=False)


def test_it_is_previewed_done_and_on_the_audit_trail(enrolled: Host, fake_host: FakeHost) -> None:
    with fake_host.changing() as machine:
        machine.disks.append(Disk("sde", 4 * GIB, False, "LAB-SSD", "ssd2", minor=64))
        vg = machine.vgs[0]
    wanted = Preparation("sde", "ssd2", vg.uuid, vg.name)
    preview = run(submit_for_host(enrolled, wanted, NO_PERSON, dry_run=True))
    shown = [command["argv"] for step in preview.step_set.all() for command in step.commands]
    assert shown == [
        ["pvcreate", "--metadatasize", "16m", "/dev/sde"],
        ["vgextend", "vg0", "/dev/sde"],
    ]
    job = run(
        submit_for_host(enrolled, wanted, NO_PERSON, dry_run=False, fingerprint=preview.fingerprint)
    )
    assert (job.state, job.error) == (State.SUCCEEDED, {})
    assert [step.state for step in job.step_set.all()] == [StepState.DONE]
    outcome = AuditEntry.objects.get(phase=Phase.OUTCOME)
    assert (outcome.verb, outcome.volume_key, outcome.result) == (
        "ssd.prepare",
        "",
        {"state": "done"},
    )
    assert [command["argv"] for command in outcome.commands] == shown
    assert [pv.device.name for pv in vg.pvs] == ["md0", "sdc", "sdd", "sde"]
    again = run(submit_for_host(enrolled, wanted, NO_PERSON, dry_run=False))
    assert (again.state, again.step_set.count()) == (State.SUCCEEDED, 0)


def test_a_signature_on_it_fails_the_preview_and_changes_nothing(
    enrolled: Host, fake_host: FakeHost
) -> None:
    with fake_host.changing() as machine:
        machine.disks.append(Disk("sde", 4 * GIB, False, "LAB-SSD", "ssd2", minor=64))
        machine.signed["/dev/sde"] = "ext4"
        vg = machine.vgs[0]
    wanted = Preparation("sde", "ssd2", vg.uuid, vg.name)
    for dry_run in (True, False):
        job = run(submit_for_host(enrolled, wanted, NO_PERSON, dry_run=dry_run))
        assert (job.state, job.error["code"]) == (State.FAILED, "not_fresh")
    assert fake_host.executed == []
