from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.db.models import ProtectedError
from django.utils import timezone

from storage.byte_sizes import GIB
from storage.models import Customer, Host, Placement, Volume
from storage.planner.wish import LvmCache, Wish
from tests import make
from tests.scene import scene

pytestmark = pytest.mark.django_db


def test_only_staff_see_rows() -> None:
    volume = make.volume(customer=make.customer())
    make.placement(volume, make.host())
    staff, off = make.staff_user(), make.staff_user(is_active=False)
    for model in (Customer, Host, Volume):
        assert model.objects.visible_to(staff).count() == 1
        for stranger in (make.user(), off, AnonymousUser()):
            assert not model.objects.visible_to(stranger).exists()


def test_a_volume_lies_where_its_open_placement_says() -> None:
    volume, old, new = make.volume(), make.host(), make.host()
    assert volume.placed is None
    past = make.placement(volume, old)
    past.until = past.since
    past.save()
    now = make.placement(volume, new)
    assert volume.placed == now
    assert not Volume.objects.placed_on(old).exists()
    assert Volume.objects.placed_on(new).get() == volume


def test_a_volume_lies_in_one_place_at_a_time() -> None:
    volume, host = make.volume(), make.host()
    make.placement(volume, host)
    with pytest.raises(IntegrityError, match="placement_one_now"), transaction.atomic():
        make.placement(volume, host)


def test_an_lv_holds_one_volume_at_a_time() -> None:
    host, uuid = make.host(), make.lvm_uuid()
    make.placement(make.volume(), host, lv_uuid=uuid)
    make.placement(make.volume(), make.host(), lv_uuid=uuid)
    with pytest.raises(IntegrityError, match="placement_lv_once"), transaction.atomic():
        make.placement(make.volume(), host, lv_uuid=uuid)


def test_several_volumes_may_wait_for_their_lvs() -> None:
    host = make.host()
    for _ in range(2):
        make.placement(make.volume(), host, lv_uuid=None)
    assert Placement.objects.filter(lv_uuid=None).count() == 2


@pytest.mark.parametrize("size_bytes", [0, -1])
def test_a_volume_has_a_size(size_bytes: int) -> None:
    with pytest.raises(IntegrityError, match="volume_size_positive"), transaction.atomic():
        make.volume(size_bytes=size_bytes)


def test_the_largest_size_a_host_may_say_fits() -> None:
    make.volume(size_bytes=2**63 - 1)
    assert Volume.objects.get().size_bytes == 2**63 - 1


def test_a_customer_with_volumes_and_a_host_with_placements_are_kept() -> None:
    volume = make.volume(customer=make.customer())
    placement = make.placement(volume, make.host())
    with pytest.raises(ProtectedError):
        Customer.objects.get().delete()
    with pytest.raises(ProtectedError):
        placement.host.delete()


def test_keys_are_made_and_unique() -> None:
    first, second = make.volume(), make.volume()
    assert first.key != second.key and len(first.key) == 16
    with pytest.raises(IntegrityError), transaction.atomic():
        make.volume(key=first.key)


def test_a_wish_comes_back_as_it_was_stored() -> None:
    wish = Wish(8 * GIB, cache=LvmCache("c-aaaaaaaa", GIB, "writeback"))
    volume = make.volume(wish=wish.to_json())
    assert Volume.objects.get(pk=volume.pk).current_wish == wish
    assert make.volume().current_wish is None


def test_an_active_host_has_a_pinned_key() -> None:
    with pytest.raises(IntegrityError, match="host_active_has_pinned_key"), transaction.atomic():
        make.host(host_key="")
    assert make.host(state="pending", host_key="").pk
    assert Host.objects.active().count() == 0


def test_a_host_has_a_known_state() -> None:
    with pytest.raises(IntegrityError, match="host_state_known"), transaction.atomic():
        make.host(state="lost")


def test_a_machine_is_enrolled_once() -> None:
    make.host(machine_id="m")
    with pytest.raises(IntegrityError, match="host_machine_id_once"), transaction.atomic():
        make.host(machine_id="m")
    for _ in range(2):
        make.host(state="pending", machine_id="", host_key="")
    twin = Host(name="twin", address="192.0.2.1", machine_id="m")
    with pytest.raises(ValidationError, match="already enrolled"):
        twin.full_clean()


@pytest.mark.parametrize("port", [0, 65536])
def test_a_port_is_a_port(port: int) -> None:
    with pytest.raises(ValidationError, match="port"):
        Host(name="h", address="192.0.2.1", port=port).full_clean()


@pytest.mark.parametrize(
    "hello", [{}, {"policy": None}, {"policy": []}, {"policy": {"vgs": "vg0"}}, {"policy": {}}]
)
def test_a_host_without_a_policy_is_observe_only(hello: dict[str, Any]) -> None:
    assert make.host(hello=hello).allowed_vgs == ()
    assert make.host().inventory is None


def test_a_hosts_policy_names_what_may_change() -> None:
    assert make.host(hello={"policy": {"vgs": ["vg0", "vg1"]}}).allowed_vgs == ("vg0", "vg1")


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("storage_physicaldisk", "may_leave"),
        ("jobs_bulkchange", "origin"),
        ("jobs_bulkchange", "token"),
        ("jobs_bulkchange", "request_id"),
    ],
)
def test_the_database_fills_a_new_column_for_a_process_of_the_release_before(
    table: str, column: str
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_default FROM information_schema.columns"
            " WHERE table_name = %s AND column_name = %s",
            [table, column],
        )
        (found,) = cursor.fetchone()
    assert found is not None


def test_an_older_panel_can_add_a_place_without_a_note_of_the_cache() -> None:
    there = scene()
    Placement.objects.update(until=timezone.now())
    columns = "volume_id, host_id, vg_name, vg_uuid, lv_name, lv_uuid, since"
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO storage_placement ({columns})"  # noqa: S608 (words of this test)
            f" SELECT {columns} FROM storage_placement WHERE volume_id = %s",
            [there.volume.pk],
        )
    assert Placement.objects.get(until=None).cache_technology == ""
