"""A volume's whole life by clicks: created, cached, changed, uncached, while a guest holds it. The
same on a real host is in test_lab.py."""

from __future__ import annotations

import pytest

from jobs.models import State
from storage.models import Host, Volume
from tests.integration.confirmation import confirmed
from tests.integration.fake_machine import FakeMachine
from tests.integration.machine import Machine
from tests.integration.person import Person, argvs, words

pytestmark = pytest.mark.parametrize("machine", ["fake"], indirect=True)
LAYOUTS = {"lvmcache": "plain", "bcache": "bcache"}
SMALLEST_MIB = {"lvmcache": 256, "bcache": 512}
"""A larger cache than that is not offered for a volume of 64 MiB."""


@pytest.mark.parametrize("technology", LAYOUTS)
def test_a_cache_is_added_changed_and_removed_while_a_guest_holds_the_volume(
    machine: FakeMachine, host: Host, person: Person, technology: str
) -> None:
    layout = LAYOUTS[technology]
    preview = person.new_volume(host, label=f"{technology} data", size_mib=64, layout=layout)
    volume = confirmed(person, machine, preview).volume
    lv = f"v-{volume.key}"
    bare = machine.lvs()
    assert lv in bare
    with machine.world.guest("web12", lv):
        preview = person.add_cache(volume, SMALLEST_MIB[technology])
        assert machine.lvs() == bare
        confirmed(person, machine, preview)
        page = words(person.volume_page(volume))
        assert f"Mode writethrough Technology {technology}" in page
        assert "web12" in page
        confirmed(person, machine, person.set_mode(volume, "writeback"))
        assert f"Mode writeback Technology {technology}" in words(person.volume_page(volume))
        confirmed(person, machine, person.remove_cache(volume))
        assert "no cache Actions" in words(person.volume_page(volume))
        assert machine.lvs() == bare


def test_a_found_volume_is_tagged_and_nothing_else_of_it_changes(
    machine: Machine, person: Person, found: Volume
) -> None:
    assert not found.managed
    before = machine.lvs()
    with machine.world.guest("mail", found.label):
        job = confirmed(person, machine, person.tag(found))
    found.refresh_from_db()
    assert found.managed
    assert [argv[0] for argv in argvs(job)] == ["lvchange"]
    assert machine.lvs() == before


def test_what_the_host_forbade_since_the_page_was_shown_is_not_done(
    machine: Machine, host: Host, person: Person, found: Volume
) -> None:
    agreed = person.tag(found)
    machine.forbid_all()
    before = machine.executed()
    for refused in (person.tag(found), person.apply_and_wait(agreed)):
        assert refused.state == State.FAILED
        assert refused.error["code"] in ("observe_only", "vg_not_allowed")
        assert "agent.pyz allow-vg vg0" in words(person.job_page(refused))
    assert machine.executed() == before
    person.refresh(host)
    assert "observe-only" in words(person.host_page(host))
    assert f"{found.key}/tag" not in person.volume_page(found)
