"""Programs of staff read the arrays of a host, and ask for checks of arrays and disks."""

from __future__ import annotations

import pytest

from jobs.models import CheckState, MediaCheck
from storage.inventory.facts import ArrayMember
from storage.models import Host
from tests import make
from tests.panel.api.asking import staff
from tests.scene import scene

pytestmark = pytest.mark.django_db


def host_with_an_array(**fields: object) -> Host:
    return scene(make.lv(), arrays=(make.array(**fields),)).host


def test_a_rebuild_is_reported_with_its_speed_and_end() -> None:
    host = host_with_an_array(
        degraded_count=1, sync_action="recover", sync_done_sectors=10, sync_total_sectors=100,
        sync_speed_kib=9, mismatch_sectors=2,
    )  # fmt: skip
    (array,) = staff().get(f"/hosts/{host.key}/arrays").json()["items"]
    assert (array["name"], array["action"], array["progress"]) == ("md0", "recover", 0.1)
    assert (array["speed_bytes_per_s"], array["seconds_left"]) == (9 * 1024, 5.0)
    assert (array["mismatch_bytes"], array["spares"]) == (1024, [])


def test_a_check_of_an_array_is_asked_for_once_and_listed() -> None:
    host = host_with_an_array()
    path = f"/hosts/{host.key}/arrays/md0/check"
    asked = staff().send("post", path)
    assert asked.status_code == 202 and asked.json()["state"] == CheckState.ASKED
    assert staff().send("post", path).status_code == 422
    (listed,) = staff().get(f"/hosts/{host.key}/checks").json()["items"]
    assert (listed["key"], listed["kind"], listed["of"]) == (asked.json()["key"], "array", "md0")


def test_a_degraded_array_is_not_checked() -> None:
    host = host_with_an_array(degraded_count=1)
    assert staff().send("post", f"/hosts/{host.key}/arrays/md0/check").status_code == 422
    assert staff().send("post", f"/hosts/{host.key}/arrays/md9/check").status_code == 404


@pytest.mark.parametrize("is_named", [True, False])
def test_an_array_of_a_guest_is_not_checked(is_named: bool) -> None:
    volume = make.lv(kname="dm-7")
    member = ArrayMember("dm-9" if is_named else "dm-7", "in_sync")
    named = f"{volume.vg_name}/{volume.name}" if is_named else ""
    host = scene(volume, arrays=(make.array(members=(member,), guests_volume=named),)).host
    refused = staff().send("post", f"/hosts/{host.key}/arrays/md0/check")
    assert refused.status_code == 422 and "guest" in refused.json()["detail"]
    assert not MediaCheck.objects.exists()


def test_a_self_test_is_asked_for() -> None:
    disk = make.physical_disk(make.host())
    path = f"/hosts/{disk.host.key}/disks/{disk.key}/tests"
    assert staff().send("post", path, {"kind": "captive"}).status_code == 422
    assert staff().send("post", path, {"kind": "long"}).json()["kind"] == "long"
    assert MediaCheck.objects.get().disk == disk
