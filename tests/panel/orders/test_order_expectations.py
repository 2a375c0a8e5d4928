"""What each offer would bring, from the volume's samples and other customers' proofs."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries, Settings

from panel.models import Intent, Order, OrderState
from panel.models.proof import Proof, ProofState
from panel.orders.order_expectations import (
    expectations,
    expected_of,
    measured,
    traffic_of,
    trial_offered,
)
from storage import row_security
from storage.analysis.forecast import SimilarVolume
from storage.byte_sizes import GIB
from storage.models import CachePlan, Volume
from storage.volumes.plan_offers import Offer, offers
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of
from tests import make
from tests.heat_scene import count_heat, counting_scene, slow_reads
from tests.panel.orders.till import buy, mandate
from tests.panel.portal.shop import plan, shop
from tests.storage.analysis.forecast.uses import result, uncached
from tests.storage.metrics.samples.rounds import NOON

pytestmark = pytest.mark.django_db
AT = datetime(2026, 3, 1, tzinfo=UTC)
USE = replace(uncached(), volume_bytes=8 * GIB)


def shelf() -> tuple[VolumeSnapshot, list[Offer]]:
    """A volume of 8 GiB without a cache, and no cache, 1 GiB and 2 GiB to choose from."""
    row = snapshots_of([shop().volume])[0]
    plan("Small", size_bytes=GIB, price_minor=290)
    plan("Fast")
    return row, offers(row, CachePlan.objects.all(), 0)


def proven(volume: Volume, **fields: Any) -> Proof:
    """An order of a first cache of 1 GiB whose proof is ready."""
    order = Order.objects.create(
        customer=volume.customer or make.customer(),
        volume=volume,
        intent=Intent.UPGRADE,
        state=OrderState.COMPLETED,
        to_plan=CachePlan.objects.first() or plan("Small", size_bytes=GIB),
        currency="EUR",
        price_minor=490,
        charge_minor=0,
        next_invoice_minor=490,
        next_invoice_at=AT,
    )
    figures = {
        "volume_bytes": 8 * GIB,
        "cache_bytes": GIB,
        "read_iops_before": 2.0,
        "hit_rate_before": None,
        "hit_rate_after": 0.8,
        "read_ms_before": 10.0,
        "read_ms_after": 2.0,
    }
    return Proof.objects.create(
        order=order,
        state=ProofState.READY,
        verdict="gain",
        before_start=AT,
        before_end=AT,
        after_start=AT,
        after_end=AT,
        block_seconds=60,
        warm_by=AT,
        result={**figures, **fields},
    )


def test_every_offer_but_what_the_volume_has_is_spoken_of_in_one_query(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    _, found = shelf()
    with django_assert_num_queries(1):
        expected = expectations(USE, found)
    assert set(expected) == {offer.key for offer in found if offer.plan is not None}
    assert {each.kind for each in expected.values()} == {"unknown"}


def test_five_proofs_of_similar_volumes_are_what_to_expect() -> None:
    similar = [result(n, volume_bytes=8 * GIB, cache_bytes=GIB) for n in range(5)]
    _, found = shelf()
    expected = expectations(USE, found, source=lambda: similar)
    assert [expected[offer.key].kind for offer in found[1:]] == ["similar", "similar"]


def test_only_ready_proofs_of_a_first_cache_are_results() -> None:
    first, second = make.volume(), make.volume()
    ready = proven(first)
    proven(make.volume(), hit_rate_before=0.3)  # a cache without a plan
    proven(second, hit_rate_after=None)
    bigger = proven(make.volume())
    Order.objects.filter(pk=bigger.order_id).update(from_plan=bigger.order.to_plan)
    waiting = proven(make.volume())
    Proof.objects.filter(pk=waiting.pk).update(state=ProofState.MEASURING, verdict="")
    assert measured() == [
        SimilarVolume(
            customer=ready.order.customer_id,
            volume_bytes=8 * GIB,
            cache_bytes=GIB,
            read_iops=2.0,
            hit_rate_after=0.8,
            read_ms_before=10.0,
            read_ms_after=2.0,
        )
    ]


def test_ones_own_results_are_none_of_others() -> None:
    mine = proven(make.volume(customer=make.customer("Mine")))
    theirs = proven(make.volume(customer=make.customer("Theirs")))
    assert [each.customer for each in measured(mine.order.customer_id)] == [
        theirs.order.customer_id
    ]


def test_a_cache_that_was_taken_back_before_it_was_measured_counts_as_no_gain() -> None:
    """Else only those count that were worth keeping."""
    gone, ended = proven(make.volume(size_bytes=8 * GIB)), proven(make.volume(size_bytes=8 * GIB))
    block = {"at": 0, "dt_ms": 60_000, "reads": 120, "read_ms": 9, "accesses": 120, "hits": 0}
    Proof.objects.update(
        state=ProofState.IMPOSSIBLE,
        verdict="",
        result={},
        reason_code="changed",
        before=[{**block, "counts": [0] * 32}],
    )
    for proof, actor in ((gone, make.user()), (ended, None)):
        back = {"customer": proof.order.customer, "volume": proof.order.volume, "actor": actor}
        Order.objects.create(
            **back,
            intent=Intent.REVERT,
            state=OrderState.COMPLETED,
            from_plan=proof.order.to_plan,
            reverts=proof.order,
            currency="EUR",
            price_minor=0,
            charge_minor=0,
            next_invoice_minor=0,
            next_invoice_at=AT,
        )
    # The other one is a trial that the panel ended.
    assert measured() == [
        SimilarVolume(
            customer=gone.order.customer_id,
            volume_bytes=8 * GIB,
            cache_bytes=GIB,
            read_iops=2.0,
            hit_rate_after=0.0,
        )
    ]


def test_results_are_those_of_other_customers_too_and_the_wall_stands_afterwards() -> None:
    proven(make.volume(customer=make.customer("Other")))
    with row_security.scope(row_security.NO_ROWS):
        assert len(measured()) == 1
        assert not Proof.objects.exists()


def test_a_trial_is_offered_where_the_effect_is_unknown_and_the_provider_allows_it(
    settings: Settings,
) -> None:
    _, found = shelf()
    unknown = expectations(USE, found)[found[1].key]
    settings.TIERCEL_TRIAL_DAYS = 7
    assert trial_offered(found[1], unknown)
    assert not trial_offered(replace(found[1], reason="Sold out."), unknown)
    settings.TIERCEL_TRIAL_DAYS = 0
    assert not trial_offered(found[1], unknown)


def test_what_is_kept_with_an_order_is_what_was_said() -> None:
    row, found = shelf()
    kept = expected_of(row.volume, found[1].plan, AT)
    assert kept["kind"] == "unknown"
    assert "text" not in kept and kept["hit_rate_high"] is None
    assert expected_of(row.volume, None, AT) == {}


def test_an_order_keeps_what_is_expected_whatever_door_it_came_through(
    settings: Settings,
) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    acme = shop()
    mandate(acme.customer)
    assert buy(acme, plan()).expected["kind"] == "unknown"


def test_where_no_plan_helps_in_any_mode_all_speak_of_the_best_of_them() -> None:
    there = counting_scene()
    now = NOON + timedelta(hours=1)
    count_heat(there.volume, 12, now)
    row = snapshots_of([Volume.objects.get(pk=there.volume.pk)])[0]
    plan("Through", size_bytes=2 * GIB)
    plan("Back", size_bytes=GIB, mode="writeback")
    shelved = offers(row, CachePlan.objects.all(), 0)
    through, back = (traffic_of(row, USE, shelved, now)[mode] for mode in (False, True))
    assert through.best_useless == back.best_useless == through.prospects[-1]
    alone = [each for each in shelved if each.plan and each.plan.mode == "writeback"]
    assert traffic_of(row, USE, alone, now)[True].best_useless is None


def test_an_order_keeps_the_figures_that_its_forecast_was_made_with() -> None:
    there = counting_scene()
    now = NOON + timedelta(hours=1)
    count_heat(there.volume, 12, now)
    slow_reads(there, 30, NOON)
    volume = Volume.objects.get(pk=there.volume.pk)
    kept = expected_of(volume, plan("Small", size_bytes=GIB), now)
    assert kept["technology"] == "lvmcache"
    assert kept["observed_seconds"] == 12 * 3600
    assert kept["hit_rate_low"] <= kept["hit_rate"] <= kept["hit_rate_high"]
    assert 0 < kept["read_ms_low"] <= kept["read_ms_high"]
    inputs = kept["inputs"]
    assert inputs["promotion_share"]["source"] == "published"
    assert inputs["hdd_iops"]["rate"] > 0
    assert inputs["past"]["widened"] == 1.0
    assert json.loads(json.dumps(kept)) is not None
