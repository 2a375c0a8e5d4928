"""What cannot be done says so, says what to do, and changes nothing."""

from __future__ import annotations

from collections import Counter

import pytest

from jobs import transport
from jobs.models import Job, State
from storage.models import Host, Volume
from tests.integration.machine import Machine
from tests.integration.person import Person, words
from tests.integration.requests import refused
from tests.integration.until import until
from tests.lab.vm import free_port

MIB = 1 << 20


def explained(person: Person, job: Job, code: str) -> str:
    """The correction of a job or preview that failed; its page shows it."""
    assert (job.state, job.error["code"]) == (State.FAILED, code), job.error
    page = words(person.job_page(job))
    for part in ("message", "correction"):
        assert words(job.error[part]) in page
    return str(job.error["correction"])


@pytest.mark.thorough
def test_a_host_with_another_key_is_quarantined_and_nothing_is_sent_to_it(
    machine: Machine, host: Host, person: Person, found: Volume
) -> None:
    preview = person.tag(found)
    before = machine.executed()
    _, another = transport.new_key_pair()
    pinned = host.host_key
    Host.objects.filter(pk=host.pk).update(host_key=" ".join(another.split()[:2]))

    def quarantined() -> bool:
        host.refresh_from_db()
        return host.state == "quarantined"

    until("the collector meets the wrong key", quarantined)
    page = words(person.host_page(host))
    assert "quarantined" in page and machine.fingerprint() in page
    refused = person.visitor.send(person.visitor.get(f"/jobs/{preview.key}/"), "/apply")
    assert refused.status == 422
    assert "quarantined" in words(refused.text) and "console" in words(refused.text)
    assert machine.executed() == before
    assert person.accept(host, machine.fingerprint()).status == 200
    host.refresh_from_db()
    assert (host.state, host.host_key.split()[:2]) == ("active", pinned.split()[:2])


@pytest.mark.thorough
def test_a_host_that_cannot_be_reached_fails_the_job_after_some_tries(
    machine: Machine, host: Host, person: Person, found: Volume
) -> None:
    preview = person.tag(found)
    before = machine.executed()
    right = host.port
    Host.objects.filter(pk=host.pk).update(port=free_port())
    try:
        job = person.apply_and_wait(preview)
        assert "sshd" in explained(person, job, "unreachable")
        assert "cannot be reached" in words(person.host_page(host))
    finally:
        Host.objects.filter(pk=host.pk).update(port=right)
    assert job.step_set.count() == 0
    assert machine.executed() == before


@pytest.mark.thorough
def test_a_host_without_lvm2_tells_which_package_is_missing(
    machine: Machine, host: Host, person: Person, found: Volume
) -> None:
    before = machine.executed()
    agreed = person.tag(found)
    with machine.world.without("lvcreate"):
        for failed in (person.tag(found), person.apply_and_wait(agreed)):
            assert "lvm2" in explained(person, failed, "missing_tool")
    assert machine.executed() == before


@pytest.mark.thorough
def test_a_full_group_takes_no_cache(
    machine: Machine, host: Host, person: Person, found: Volume
) -> None:
    agreed = person.add_cache(found, 256)
    before, lvs = machine.executed(), machine.lvs()
    machine.world.fill()
    fillers = machine.lvs() - lvs
    try:
        assert "SSD" in explained(person, person.apply_and_wait(agreed), "no_space")
        assert machine.lvs() == lvs | fillers
        refusal = words(person.visitor.get(f"/volumes/{found.key}/cache").text)
        assert "0 B of SSD free" in refusal
    finally:
        for filler in fillers:
            machine.world.remove_lv(filler)
    # By LVM's archive, which is in the order of its groups.
    since = Counter(machine.executed()) - Counter(before)
    assert [each for each in since if "filler" not in each] == []


@pytest.mark.parametrize("machine", ["fake"], indirect=True)
def test_formatting_a_volume_in_use_is_refused(
    machine: Machine, host: Host, person: Person
) -> None:
    fresh = "v-aaaaaaaaaaaaaaaa"
    tags = ("tiercel", "tiercel.volume=aaaaaaaaaaaaaaaa", "tiercel.format=bcache")
    machine.world.add_lv(fresh, 64 * MIB, tags=tags)
    person.refresh(host)
    with machine.world.guest("busy7", fresh):
        before = machine.executed()
        error = refused(host, "bcache.format", fresh)
        assert error.code == "in_use"
        assert "busy7" in error.message + error.correction
        assert machine.executed() == before
    machine.world.remove_lv(fresh)


@pytest.mark.parametrize("machine", ["fake"], indirect=True)
def test_stopping_a_volume_in_use_is_refused(machine: Machine, host: Host, person: Person) -> None:
    made = person.apply_and_wait(
        person.new_volume(host, label="bcache data", size_mib=64, layout="bcache")
    )
    lv = f"v-{made.volume.key}"
    person.refresh(host)
    with machine.world.guest("busy7", lv):
        before = machine.executed()
        error = refused(host, "bcache.stop", lv)
        assert error.code == "in_use"
        assert "busy7" in error.message + error.correction
        assert machine.executed() == before


HOSTILE = ("x; reboot", "../../dev/sda", "-f", "$(id)", "a b", "v\n", "é", "", "x" * 200, "@tag")


@pytest.mark.thorough
def test_hostile_names_in_requests_are_refused_by_the_agent(
    machine: Machine, host: Host, found: Volume
) -> None:
    assert host.inventory is not None
    vg = next(vg for vg in host.inventory.vgs if vg.name == "vg0")
    lv = next(lv for lv in host.inventory.lvs if lv.name == found.label)
    expect = {
        "vg_uuid": vg.uuid, "lv_uuid": lv.uuid, "lv_name": lv.name, "size_bytes": lv.size_bytes
    }  # fmt: skip
    before, lvs = machine.executed(), machine.lvs()
    for name in HOSTILE:
        for changed in ({"vg": name}, {"lv": name}, {"volume_key": name}):
            args = {"vg": "vg0", "lv": lv.name, "volume_key": "aaaaaaaa"} | changed
            reply = transport.call(host, "volume.tag", args, expect)
            assert reply.error is not None, changed
            assert reply.error.code == "bad_request", (changed, reply.error)
            assert reply.error.correction
    assert (machine.executed(), machine.lvs()) == (before, lvs)


@pytest.mark.parametrize("machine", ["fake"], indirect=True)
def test_hostile_names_of_guests_are_shown_escaped(
    machine: Machine, host: Host, person: Person
) -> None:
    lv, guest = "pub-web", '"><img src=x onerror=alert(2)>'
    machine.world.add_lv(lv, 64 * MIB)
    with machine.world.guest(guest, lv):
        person.refresh(host)
        volume = Volume.objects.get(label=lv, placement__host=host)
        for page in (person.host_page(host, "volumes"), person.volume_page(volume)):
            assert "<img src=x" not in page
            assert guest in words(page)
    machine.world.remove_lv(lv)


@pytest.mark.parametrize("machine", ["fake"], indirect=True)
def test_a_group_with_a_name_that_lvm_gives_to_none_is_left_out_and_shown_with_question_marks(
    machine: Machine, host: Host, person: Person
) -> None:
    lv = "<script>alert(1)</script>"
    machine.world.add_lv(lv, 64 * MIB)
    person.refresh(host)
    page = person.host_page(host)
    assert "<script>alert" not in page
    assert "?script?alert?1?" in words(page)
    assert not Volume.objects.filter(label=lv).exists()
    machine.world.remove_lv(lv)
    person.refresh(host)
