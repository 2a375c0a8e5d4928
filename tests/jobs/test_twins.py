"""Two hosts that claim the same machine or the same disks: neither is trusted, none merged."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jobs.hosts import accept_fingerprint, fingerprint
from jobs.models import Kind
from jobs.queue import submit
from jobs.refresh import refresh
from storage.models import Host, Placement, Volume
from storage.plan import Refused
from storage.wish import MIB, Wish
from tests.fake.fixtures import enrol
from tests.fake.host import FakeHost
from tests.fake.server import FakeServer

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
        submit(kind=Kind.TAG_VOLUME, volume=volume, wish=Wish(64 * MIB), actor=None)
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
        accept_fingerprint(host, fingerprint(host.host_key_seen), None)
        assert refresh(host)
    assert states() == {"original": "active", "clone": "active"}
    assert Placement.objects.filter(host=clone).count() == 1


def test_disks_that_were_carried_to_another_host_are_nobodys_twins(pair: Pair) -> None:
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
