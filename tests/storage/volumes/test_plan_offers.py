"""What a customer may choose, and why not, in the customer's words."""

from __future__ import annotations

from typing import Any

import pytest

from storage.byte_sizes import GIB, MIB
from storage.models import CachePlan, Volume
from storage.planner.technologies.lookup import of_layout
from storage.planner.wish import Bcache, LvmCache
from storage.volumes.plan_offers import NOT_NOW, Offer, offers, size_of
from storage.volumes.snapshot import snapshots_of
from tests import make
from tests.scene import Scene, scene

pytestmark = pytest.mark.django_db
SECRETS = ("vg0", "lvm", "bcache", "md0", "web12", "host")


def plan(name: str = "Fast", **fields: Any) -> CachePlan:
    defaults = {"price_minor": 490, "currency": "EUR"}
    if "ratio_percent" not in fields:
        defaults["size_bytes"] = 2 * GIB
    return CachePlan.objects.create(name=name, **{**defaults, **fields})


def offered(there: Scene, reserved_bytes: int = 0) -> dict[str, Offer]:
    """What is offered for the scene's volume, by name."""
    volume = Volume.objects.get(pk=there.volume.pk)
    plans = CachePlan.objects.prefetch_related("hosts")
    found = offers(snapshots_of([volume])[0], plans, reserved_bytes)
    for offer in found:
        words = offer.reason.lower()
        assert not [secret for secret in SECRETS if secret in words]
        assert (offer.wish is None) == bool(offer.reason) or offer.is_current
    return {offer.name: offer for offer in found}


def test_a_plan_becomes_a_cache_of_its_size_and_mode() -> None:
    plan(mode="writeback")
    found = offered(scene())
    assert list(found) == ["No cache", "Fast"]
    assert found["No cache"].is_current
    offer = found["Fast"]
    assert (offer.reason, offer.change, offer.is_current) == ("", "add", False)
    assert offer.wish is not None
    assert isinstance(offer.wish.cache, LvmCache)
    assert (offer.wish.cache.size_bytes, offer.wish.cache.mode) == (2 * GIB, "writeback")


def test_to_give_the_cache_back_moves_nothing_that_lies_on_ssd() -> None:
    there = scene(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa"), pvs=("md0",)))
    offer = offered(there)["No cache"]
    assert offer.wish is not None
    assert (offer.wish.cache, offer.wish.tier) == (None, "ssd")


def test_a_cache_whose_ssd_is_lost_is_no_customers_to_give_back() -> None:
    plan(size_bytes=4 * GIB)
    cache = make.dm_cache("c-aaaaaaaaaaaaaaaa", pvs=("[unknown]",))
    lost = make.fast_pv("[unknown]", missing=True)
    for pvs in ((make.pv().name,), ("md1",)):
        there = scene(
            make.lv(cache=cache, pvs=pvs, health="partial"),
            pvs=(make.pv(), make.fast_pv("md1"), lost),
            vgs=(make.vg(missing_pv_count=1),),
        )
        assert {offer.reason for offer in offered(there).values()} == {NOT_NOW}


def test_a_bcache_ready_volume_takes_a_bcache_without_the_customer_knowing() -> None:
    plan()
    found = offered(scene(make.lv(bcache=make.bcache()), layout="bcache"))
    offer = found["Fast"]
    assert offer.wish is not None
    assert isinstance(offer.wish.cache, Bcache)


@pytest.mark.parametrize(
    ("percent", "volume_bytes", "layout", "size_bytes"),
    [
        (25, 8 * GIB, "plain", 2 * GIB),
        (10, 10 * GIB, "plain", GIB),
        (10, 10 * GIB + 1, "plain", GIB + 64 * MIB),
        (1, 100 * MIB, "plain", 64 * MIB),
        (1, GIB, "bcache", 512 * MIB),
    ],
)
def test_a_ratio_is_rounded_up_and_never_below_what_can_be_made(
    percent: int, volume_bytes: int, layout: str, size_bytes: int
) -> None:
    ratio = CachePlan(ratio_percent=percent)
    assert size_of(ratio, volume_bytes, of_layout(layout)) == size_bytes


def test_a_full_ssd_is_sold_out_and_promised_space_counts_as_taken() -> None:
    plan()
    there = scene(pvs=(make.pv(), make.fast_pv(free_bytes=3 * GIB)))
    assert offered(there)["Fast"].reason == ""
    assert "Sold out" in offered(there, reserved_bytes=2 * GIB)["Fast"].reason


def test_writeback_is_sold_only_on_redundant_ssds() -> None:
    plan("Safe")
    plan("Quick", mode="writeback")
    found = offered(scene(pvs=(make.pv(), make.fast_pv(redundant=False))))
    assert found["Safe"].reason == ""
    assert "mirrored" in found["Quick"].reason


def test_another_size_replaces_the_cache_that_is_there() -> None:
    small, _ = plan("Small"), plan("Large", size_bytes=4 * GIB)
    there = scene(make.lv(cache=make.dm_cache("c-aaaaaaaa_cpool")))
    Volume.objects.filter(pk=there.volume.pk).update(cache_plan=small)
    found = offered(there)
    assert found["Small"].is_current
    large = found["Large"]
    assert (large.reason, large.change) == ("", "replace")
    assert large.wish is not None
    assert isinstance(large.wish.cache, LvmCache)
    assert large.wish.cache.size_bytes == 4 * GIB
    assert large.wish.cache.name != "c-aaaaaaaa"
    assert found["No cache"].reason == ""
    assert found["No cache"].change == "remove"


def test_the_same_size_in_another_mode_changes_the_cache_that_is_there() -> None:
    plan("Quick", mode="writeback")
    found = offered(scene(make.lv(cache=make.dm_cache("c-aaaaaaaa_cpool"))))
    offer = found["Quick"]
    assert (offer.reason, offer.change) == ("", "set")
    assert offer.wish is not None
    assert isinstance(offer.wish.cache, LvmCache)
    assert (offer.wish.cache.name, offer.wish.cache.mode) == ("c-aaaaaaaa", "writeback")


@pytest.mark.parametrize(
    ("fields", "is_sold"),
    [
        ({"price_minor": 790}, False),
        ({"price_minor": 290}, True),
        ({"price_minor": 790, "mode": "writeback"}, True),
    ],
)
def test_more_money_for_a_cache_of_the_same_size_is_not_taken(
    fields: dict[str, Any], is_sold: bool
) -> None:
    own = plan()
    plan("Twin", size_bytes=2 * GIB + 32 * MIB, **fields)
    there = scene(make.lv(cache=make.dm_cache("c-aaaaaaaa_cpool")))
    Volume.objects.filter(pk=there.volume.pk).update(cache_plan=own)
    twin = offered(there)["Twin"]
    assert (twin.reason == "") is is_sold
    assert is_sold or "already that large" in twin.reason


def test_a_cache_larger_than_the_volume_is_not_sold() -> None:
    plan("Huge", size_bytes=9 * GIB)
    there = scene()
    assert offered(there)["Huge"].reason == "This volume is smaller than the smallest plan."
    plan("Small")
    assert "A smaller plan gives the same result" in offered(there)["Huge"].reason


def test_plans_that_are_retired_or_of_other_hosts_are_not_shown_unless_they_are_ones_own() -> None:
    retired = plan("Old", on_offer=False)
    plan("Elsewhere").hosts.add(make.host())
    there = scene(make.lv(cache=make.dm_cache("c-aaaaaaaa_cpool")))
    plan("Here").hosts.add(there.host)
    assert list(offered(there)) == ["No cache", "Here"]
    Volume.objects.filter(pk=there.volume.pk).update(cache_plan=retired)
    assert list(offered(there)) == ["No cache", "Here", "Old"]


@pytest.mark.parametrize(
    "fields",
    [
        {"vgs": (make.vg(allowed=False),)},
        {"host": {"state": "quarantined"}},
        {"consistent": False},
        {"pvs": (make.pv(),)},
    ],
)
def test_what_the_host_forbids_is_said_without_saying_why(fields: dict[str, Any]) -> None:
    plan()
    assert offered(scene(**fields))["Fast"].reason


def test_a_foreign_cache_without_a_description_is_left_alone() -> None:
    plan()
    found = offered(scene(make.lv(cache=make.dm_cache("mine", mode="passthrough"))))
    assert found["No cache"].reason
    assert found["Fast"].reason


def test_a_volume_that_is_nowhere_gets_no_plan() -> None:
    plan()
    there = scene()
    there.volume.placement_set.all().delete()
    assert offered(there)["Fast"].reason


def test_a_cache_that_the_provider_set_up_can_be_taken_over_as_a_plan() -> None:
    plan()
    offer = offered(scene(make.lv(cache=make.dm_cache("c-aaaaaaaa_cpool"))))["Fast"]
    assert (offer.reason, offer.change, offer.is_current) == ("", "set", False)
