"""A disk of an array is replaced: the page, its preview, the job and its audit trail."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from jobs.hosts.refresh import refresh
from jobs.models import AuditEntry, Job, Kind, Phase, State, StepState
from jobs.queue.submit import submit_for_host
from jobs.requester import Requester
from storage.inventory.facts import ArrayMember
from storage.models import Host, PhysicalDisk
from storage.planner.member_wish import Replacement
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
MEMBERS = (ArrayMember("sda", "in_sync", "0"), ArrayMember("sdb", "in_sync", "1"))
WANTED = Replacement("md0", "76600b8d", "sda", "sde", "new", make.VG_UUID, "vg0", "a")
TYPED = {"member": "sda", "device": "sde", "serial": "new"}
ALLOWS = {"hello": {"policy": {"vgs": ["vg0"], "replace_members": True}}}


def there(**fields: Any) -> Scene:
    return scene(
        **{
            "arrays": (make.array(members=MEMBERS),),
            "pvs": (make.pv(), make.fast_pv("md0")),
            "disks": tuple(
                make.disk(name, rotational=False, serial=serial)
                for name, serial in (("sda", "a"), ("sdb", "b"), ("sde", "new"))
            ),
            "host": ALLOWS,
            **fields,
        }
    )


def signed_in(client: Client, role: str = "admin") -> Client:
    client.force_login(make.staff_user(staff_role=role))
    return client


def path_of(of: Scene) -> str:
    return reverse("host-member", args=[of.host.key, "md0"])


def disks_page(client: Client, of: Scene) -> str:
    return client.get(reverse("host-disks", args=[of.host.key])).content.decode()


def test_the_array_s_button_leads_to_the_form_and_the_form_to_a_preview(client: Client) -> None:
    of, admin = there(), signed_in(client)
    assert f'href="{path_of(of)}"' in disks_page(admin, of)
    text = admin.get(path_of(of)).content.decode()
    assert "sde · 100\xa0GiB" in text and "sda (a, in_sync)" in text
    assert admin.post(path_of(of), TYPED).status_code == 302
    preview = Job.objects.get()
    assert (preview.kind, preview.dry_run, preview.volume) == (Kind.REPLACE_MEMBER, True, None)
    assert Replacement.from_json(preview.wish) == WANTED
    assert preview.label == "md0"


@pytest.mark.parametrize("typed", [{"serial": "old"}, {"device": "sdc"}, {"member": "sdc"}])
def test_another_serial_number_device_or_member_is_no_preview(
    client: Client, typed: dict[str, str]
) -> None:
    assert signed_in(client).post(path_of(there()), {**TYPED, **typed}).status_code == 422
    assert not Job.objects.exists()


def test_of_an_array_that_misses_a_disk_only_the_new_one_is_named(client: Client) -> None:
    failed = (MEMBERS[0], ArrayMember("sdb", "faulty", "none"))
    of = there(arrays=(make.array(members=failed, degraded_count=1, uuid="76600b8d"),))
    admin = signed_in(client)
    assert "Disk to replace" not in admin.get(path_of(of)).content.decode()
    admin.post(path_of(of), {"device": "sde", "serial": "new"})
    assert Job.objects.get().wish["member"] == ""


def test_where_root_has_not_allowed_it_the_button_and_the_page_say_so(client: Client) -> None:
    of, admin = there(host={"hello": {"policy": {"vgs": ["vg0"]}}}), signed_in(client)
    assert "too old to replace a disk" in disks_page(admin, of)
    Host.objects.update(hello={"policy": {"vgs": ["vg0"], "replace_members": False}})
    text = disks_page(admin, of)
    assert "allow-replacement" in text and path_of(of) not in text
    answer = admin.post(path_of(of), TYPED)
    assert (answer.status_code, Job.objects.exists()) == (422, False)
    assert "allow-replacement" in answer.content.decode()


def test_a_reason_that_all_arrays_have_is_given_once(client: Client) -> None:
    other = make.array(name="md1", members=MEMBERS, uuid="76600b8e")
    old = {"hello": {"policy": {"vgs": ["vg0"]}}}
    pvs = (make.pv(), make.fast_pv("md0"), make.fast_pv("md1"))
    of = there(arrays=(make.array(members=MEMBERS), other), pvs=pvs, host=old)
    text = disks_page(signed_in(client), of)
    assert text.count("Replace disk</button>") == 2
    assert text.count('id="no-member"') == 1 and "no-member-" not in text


def test_an_operator_sees_why_not_and_confirms_no_preview(client: Client) -> None:
    of, operator = there(), signed_in(client, "operator")
    assert disks_page(operator, of).count("Replacing a disk requires the admin role.") == 1
    assert operator.post(path_of(of), TYPED).status_code == 403
    preview = submit_for_host(of.host, WANTED, NO_PERSON, dry_run=True)
    end(preview)
    assert operator.post(reverse("preview-apply", args=[preview.key])).status_code == 403


def test_an_admin_confirms_it_with_a_fresh_proof(client: Client) -> None:
    of, admin = there(), make.staff_user()
    client.force_login(admin)
    preview = submit_for_host(of.host, WANTED, NO_PERSON, dry_run=True)
    step(preview, verb="array.replace", title="Put sde (new) into md0 in place of sda",
         args={"vg": "vg0", "array": "md0"})  # fmt: skip
    end(preview, fingerprint="f" * 64)
    text = client.get(reverse("job", args=[preview.key])).content.decode()
    assert "sde (new)" in text and "part of md0" in text
    apply = reverse("preview-apply", args=[preview.key])
    assert is_asked(client.post(apply))
    prove(client, admin)
    assert client.post(apply).status_code == 302
    job = Job.objects.get(dry_run=False)
    assert (job.kind, job.wish, job.fingerprint) == (preview.kind, preview.wish, "f" * 64)
    for name in ("job", "job-status"):
        assert "md0" in client.get(reverse(name, args=[job.key])).content.decode()
    assert "Replace disk of array" in client.get(reverse("jobs")).content.decode()


@pytest.fixture
def plugged(enrolled: Host, fake_host: FakeHost) -> Replacement:
    """A disk has come, and root has allowed it."""
    policy = {"vgs": ["vg0"], "replace_members": True}
    fake_host.save("/etc/tiercel/agent.json", json.dumps(policy).encode())
    with fake_host.changing() as machine:
        machine.disks.append(Disk("sde", 5 * GIB, False, "LAB-SSD", "ssd2", minor=64))
        vg, array = machine.vgs[0], machine.arrays[0]
    assert refresh(enrolled)
    return Replacement("md0", array.uuid, "sda", "sde", "ssd2", vg.uuid, vg.name, "ssd0")


def members(host: FakeHost) -> list[str]:
    return [disk.name for disk, _, _ in host.machine.arrays[0].all_members]


def test_it_is_previewed_done_and_on_the_audit_trail(
    enrolled: Host, fake_host: FakeHost, plugged: Replacement
) -> None:
    enrolled.refresh_from_db()
    assert enrolled.replaces_members is True
    for name in ("sda", "sdb"):
        asked = {"asked_at": enrolled.created_at, "identity": name, "device": f"/dev/{name}"}
        PhysicalDisk.objects.create(host=enrolled, name=name, **asked)
    preview = run(submit_for_host(enrolled, plugged, NO_PERSON, dry_run=True))
    shown = [command["argv"] for each in preview.step_set.all() for command in each.commands]
    assert shown == [
        ["mdadm", "--manage", "/dev/md0", "--add", "/dev/sde"],
        ["mdadm", "--manage", "/dev/md0", "--replace", "/dev/sda", "--with", "/dev/sde"],
        ["wait", "/dev/md0"],
        ["mdadm", "--manage", "/dev/md0", "--remove", "/dev/sda"],
    ]
    job = run(
        submit_for_host(
            enrolled, plugged, NO_PERSON, dry_run=False, fingerprint=preview.fingerprint
        )
    )
    assert (job.state, job.error) == (State.SUCCEEDED, {})
    assert [each.state for each in job.step_set.all()] == [StepState.DONE]
    outcome = AuditEntry.objects.get(phase=Phase.OUTCOME)
    assert (outcome.verb, outcome.volume_key, outcome.result) == (
        "array.replace",
        "",
        {"state": "done"},
    )
    assert [command["argv"] for command in outcome.commands] == shown
    assert members(fake_host) == ["sde", "sdb"]
    leaving = PhysicalDisk.objects.filter(host=enrolled, may_leave=True)
    assert [each.name for each in leaving] == ["sda"], "its removal notifies no one"
    again = run(submit_for_host(enrolled, plugged, NO_PERSON, dry_run=False))
    assert (again.state, again.step_set.count()) == (State.SUCCEEDED, 0)


def test_a_signature_on_it_fails_the_preview_and_changes_nothing(
    enrolled: Host, fake_host: FakeHost, plugged: Replacement
) -> None:
    with fake_host.changing() as machine:
        machine.signed["/dev/sde"] = "ext4"
    for dry_run in (True, False):
        job = run(submit_for_host(enrolled, plugged, NO_PERSON, dry_run=dry_run))
        assert (job.state, job.error["code"]) == (State.FAILED, "not_fresh")
    assert fake_host.executed == [] and members(fake_host) == ["sda", "sdb"]
