"""Two hosts that claim the same machine or the same disks: neither is trusted, none merged."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse

from jobs.hosts import enrolment
from jobs.hosts.refresh import refresh
from jobs.hosts.trust import accept_fingerprint, check_groups, key_fingerprint
from jobs.models import Kind, State
from jobs.queue.submit import ChangeRequest, submit
from jobs.requester import Requester
from storage.byte_sizes import MIB
from storage.models import Host, Placement, Volume
from storage.planner import Refused
from storage.planner.wish import Wish
from tests import make
from tests.fake.fixtures import enrol, fake_host, fake_server, make_fake_host
from tests.fake.host import FakeHost
from tests.fake.server import FakeServer
from tests.jobs.engine.test_end_to_end import done, enrolled, new_volume

__all__ = ["enrolled", "fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db

Pair = tuple[Host, Host, FakeHost]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A host with a volume that the panel knows, another with copies of its disks, and the machine
    of the latter."""
    first, second = FakeHost("one"), FakeHost("one")
    first.root.add_lv("web12", 64 * MIB)
    second.root.add_lv("web12", 64 * MIB)
    second.machine.machine_id = "0" * 31 + "1"
    with FakeServer(first) as one, FakeServer(second) as two:
        original, clone = enrol(one, "original"), enrol(two, "clone")
        assert refresh(original)
        yield original, clone, second


def states() -> dict[str, str]:
    return dict(Host.objects.values_list("name", "state"))


def test_a_host_with_anothers_volume_group_is_quarantined_with_it(pair: Pair) -> None:
    original, clone, _ = pair
    volumes = Volume.objects.count()
    assert not refresh(clone)
    assert states() == {"original": "quarantined", "clone": "quarantined"}
    assert (Volume.objects.count(), Placement.objects.filter(host=clone).count()) == (volumes, 0)
    for host in (original, clone):
        host.refresh_from_db()
        assert "original" in host.error["message"] and "clone" in host.error["message"]
        assert "vg0" in host.error["message"]


def test_no_job_is_accepted_for_either(pair: Pair) -> None:
    original, clone, _ = pair
    refresh(clone)
    volume = Placement.objects.get(host=original, lv_name="web12").volume
    with pytest.raises(Refused) as refused:
        submit(ChangeRequest(Kind.TAG_VOLUME, volume, Wish(64 * MIB)), Requester(None))
    assert refused.value.code == "twins"
    assert "vgimportclone" in refused.value.correction


def test_with_an_identity_of_its_own_each_is_let_in_again(pair: Pair) -> None:
    original, clone, machine = pair
    refresh(clone)
    with machine.changing() as changed:
        changed.vgs[0].uuid = changed.vgs[0].uuid[::-1]
        for lv in changed.vgs[0].lvs:
            lv.uuid = lv.uuid[::-1]
    for host in (clone, original):
        host.refresh_from_db()
        accept_fingerprint(host, key_fingerprint(host.host_key_seen), None)
        assert refresh(host)
    assert states() == {"original": "active", "clone": "active"}
    assert Placement.objects.filter(host=clone).count() == 1


def test_hosts_whose_disks_were_carried_over_are_no_twins(pair: Pair) -> None:
    original, clone, _ = pair
    Placement.objects.filter(host=original).update(missing_since=original.created_at)
    assert refresh(clone)
    assert states() == {"original": "active", "clone": "active"}


def test_a_host_that_says_anothers_machine_id_is_quarantined_with_it(pair: Pair) -> None:
    original, clone, machine = pair
    machine.machine.machine_id = original.machine_id
    assert not refresh(clone)
    assert states() == {"original": "quarantined", "clone": "quarantined"}
    clone.refresh_from_db()
    assert original.machine_id in clone.error["message"]


def another_machine(host: FakeHost, machine_id: str) -> None:
    """From now on this id is said at the host's address, behind the host's key."""
    with host.changing() as machine:
        machine.machine_id = machine_id


def test_another_machine_behind_a_hosts_name_is_noticed_though_its_key_is_the_same(
    enrolled: Host, fake_host: FakeHost
) -> None:
    """A clone of a template answers at an address that moved: equal SSH keys, another machine."""
    assert refresh(enrolled)
    accepted = enrolled.machine_id
    another_machine(fake_host, "f" * 32)
    volumes = Volume.objects.count()
    with fake_host.changing() as machine:
        machine.vgs[0].lvs.clear()
    assert not refresh(enrolled)
    enrolled.refresh_from_db()
    assert (enrolled.state, enrolled.error["code"]) == ("quarantined", "machine_changed")
    assert accepted in enrolled.error["message"] and "f" * 32 in enrolled.error["message"]
    missing = Placement.objects.exclude(missing_since=None).count()
    assert (Volume.objects.count(), missing) == (volumes, 0)
    volume = Volume.objects.first()
    if volume is not None:
        with pytest.raises(Refused) as refused:
            submit(ChangeRequest(Kind.TAG_VOLUME, volume, Wish(64 * MIB)), Requester(None))
        assert refused.value.code == "machine_changed"


def test_a_job_meets_another_machine_before_its_first_step(
    enrolled: Host, fake_host: FakeHost
) -> None:
    """The inventory says whose it is: the next refresh may be a minute away."""
    volume = new_volume(enrolled)
    another_machine(fake_host, "f" * 32)
    job = done(Kind.CREATE_VOLUME, volume, Wish(64 * MIB))
    assert (job.state, job.error["code"]) == (State.FAILED, "machine_changed")
    assert fake_host.machine.lvs() == [] and fake_host.executed == []


@pytest.mark.parametrize("said", ["", "not an id", "F" * 33])
def test_a_host_that_does_not_say_which_machine_it_is_is_no_accepted_one(
    enrolled: Host, fake_host: FakeHost, said: str
) -> None:
    another_machine(fake_host, said)
    assert not refresh(enrolled)
    enrolled.refresh_from_db()
    assert enrolled.error["code"] == "machine_changed"


def test_a_reinstalled_host_says_its_new_id_by_a_new_enrolment_line(
    enrolled: Host, fake_host: FakeHost, fake_server: FakeServer
) -> None:
    another_machine(fake_host, "f" * 32)
    assert not refresh(enrolled)
    enrolled.refresh_from_db()
    # Its key alone is not enough: it is the same, and so is the other machine.
    accept_fingerprint(enrolled, key_fingerprint(enrolled.host_key), None)
    assert not refresh(enrolled)
    host, token = enrolment.begin_enrolment(enrolled.name, enrolled.address)
    enrolment.report_host(token, "f" * 32, fake_server.host_key, fake_server.port)
    enrolled.refresh_from_db()
    assert enrolled.state == "quarantined"
    accept_fingerprint(enrolled, key_fingerprint(enrolled.host_key), None)
    assert refresh(enrolled)
    enrolled.refresh_from_db()
    assert (host.pk, enrolled.state, enrolled.machine_id) == (enrolled.pk, "active", "f" * 32)


def test_the_right_machine_comes_back_by_the_key_that_was_accepted(
    enrolled: Host, fake_host: FakeHost
) -> None:
    another_machine(fake_host, "f" * 32)
    assert not refresh(enrolled)
    another_machine(fake_host, enrolled.machine_id)
    accept_fingerprint(enrolled, key_fingerprint(enrolled.host_key), None)
    assert refresh(enrolled)
    enrolled.refresh_from_db()
    assert (enrolled.state, enrolled.error) == ("active", {})


def test_the_page_says_that_another_machine_answers(
    enrolled: Host, fake_host: FakeHost, client: Client
) -> None:
    another_machine(fake_host, "f" * 32)
    assert not refresh(enrolled)
    client.force_login(make.staff_user())
    page = client.get(reverse("host", args=[enrolled.key])).content.decode()
    assert "f" * 32 in page and "different SSH key" not in page
    assert "new enrolment command" in page


@pytest.mark.parametrize("allowed", [False, None, "yes"])
def test_guests_of_one_template_make_no_hosts_twins(pair: Pair, allowed: object) -> None:
    """Their groups have the same uuids on every host; no host lets the panel change them."""
    original, clone, _ = pair
    placed = Placement.objects.get(host=original, lv_name="web12")
    group = {"uuid": placed.vg_uuid, "name": "rhel", "allowed": allowed}
    check_groups(clone, {"vgs": [group]})
    assert states() == {"original": "active", "clone": "active"}
