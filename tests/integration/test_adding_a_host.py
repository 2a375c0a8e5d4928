"""A host from the pasted line to its first samples, observe-only."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from storage.models import Host, LatestSample, Placement
from tests.integration.machine import Machine
from tests.integration.person import Person, words
from tests.integration.requests import refused
from tests.integration.until import until


@pytest.mark.thorough
def test_a_pasted_line_and_an_accepted_fingerprint_show_all_there_is_and_allow_nothing(
    machine: Machine, enrol: Callable[[Machine, str], Host], person: Person
) -> None:
    machine.world.add_lv("legacy-web", 64 << 20)
    host = enrol(machine, "lab" if machine.name == "lab" else f"fake{Host.objects.count()}")
    page = words(person.host_page(host))
    assert "observe-only" in page and "agent.pyz allow-vg vg0" in page
    assert "legacy-web" in page
    disks = words(person.host_page(host, "disks"))
    for shown in ("md0", "sdc", "sdd", "raid1"):
        assert shown in disks, shown
    found = Placement.objects.get(host=host, lv_name="legacy-web")
    assert not found.volume.managed
    until("it is sampled", lambda: LatestSample.objects.filter(volume=found.volume).exists())
    volume = words(person.volume_page(found.volume))
    assert "legacy-web" in volume and "not adopted" in volume
    assert "/tag" not in person.volume_page(found.volume)
    vg = host.inventory.vgs[0] if host.inventory else None
    assert vg is not None and not vg.allowed
    assert refused(host, "bcache.stop", "legacy-web").code == "observe_only"
    offered = person.visitor.get("/volumes/new").text
    assert vg.uuid not in offered
    machine.allow("vg0")
    person.refresh(host)
    assert vg.uuid in person.visitor.get("/volumes/new").text


def test_a_fingerprint_that_is_not_the_one_on_the_console_is_refused(
    make_fake_machine: Callable[..., Machine],
    begin: Callable[[Machine, str], Host],
    person: Person,
) -> None:
    machine = make_fake_machine()
    host = begin(machine, f"fake{Host.objects.count()}")
    page = person.accept(host, "SHA256:" + "A" * 43)
    assert page.status == 422
    assert "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub" in words(page.text)
    host.refresh_from_db()
    assert (host.state, host.facts_at) == ("unverified", None)
