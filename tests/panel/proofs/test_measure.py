"""From an order that is done to its proof."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from panel.models import Intent, Message, MessageType, Order, Proof, ProofState, UsageLine
from panel.orders import events
from panel.proofs.measure import advance, begin_proof, sweep_proofs
from storage.metrics.rates import CachedBy
from storage.metrics.samples.chunk_store import VOLUMES
from storage.metrics.samples.packer import pack_samples
from storage.models import CachePlan, Resolution, Sample, SampleChunk, Volume
from storage.volumes.ownership import disown as take_away
from storage.volumes.ownership import give
from tests import make
from tests.panel.proofs.past import NOON, Past, at, ordered, sampled
from tests.scene import end, job

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def minute(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.TIERCEL_PROOF_SECONDS = 60
    settings.TIERCEL_PROOF_WARM_SECONDS = 120
    settings.TIERCEL_SAMPLE_SECONDS = 10
    # Noon of today may still be to come.
    monkeypatch.setattr("panel.proofs.measure.database_now", lambda: at(1000))


def proved(past: Past, seconds: float = 1000) -> Proof:
    """The proof as far as it comes by then."""
    proof = begin_proof(past.order)
    assert proof is not None
    advance(proof, at(seconds))
    return proof


def faster(**fields: Any) -> Past:
    """Without a cache up to the order at 300; then one that serves 70 % at once."""
    past = ordered(**fields)
    sampled(past.volume, 0, 300)
    sampled(past.volume, 310, 900, hit_rate=0.7, read_ms=0.5)
    return past


def test_a_first_cache_that_serves_most_reads_is_a_gain() -> None:
    proof = proved(faster())
    assert (proof.state, proof.verdict, proof.was_warm) == (ProofState.READY, "gain", True)
    result = proof.result
    assert (result["hit_rate_before"], result["hit_rate_after"]) == (0.0, 0.7)
    assert (result["read_ms_before"], result["read_ms_after"]) == (8.0, 0.5)
    assert result["read_ms_p95_after"] < 1 < result["read_ms_p95_before"]
    assert result["read_ms_p99_before"] >= result["read_ms_p95_before"]
    assert result["read_iops_before"] == result["read_iops_after"] == 200
    assert result["slow_reads_spared_per_second"] == pytest.approx(140)
    assert result["cache_bytes"] == 2 * 2**30
    assert result["confidence"] == 0.999


def test_the_time_before_ends_with_the_job_and_the_time_after_begins_with_a_warm_cache() -> None:
    proof = proved(faster())
    assert (proof.before_start, proof.before_end) == (at(240), at(300))
    assert (proof.after_start, proof.after_end) == (at(370), at(430))
    assert proof.result["blocks_compared"] == proof.result["blocks"] == 6


def test_the_same_hit_rate_as_before_is_no_gain() -> None:
    past = ordered()
    sampled(past.volume, 0, 300, hit_rate=0.5)
    sampled(past.volume, 310, 900, hit_rate=0.505)
    assert proved(past).verdict == "none"


def test_a_smaller_cache_that_serves_less_is_a_loss() -> None:
    past = ordered(intent=Intent.DOWNGRADE)
    sampled(past.volume, 0, 300, hit_rate=0.8)
    sampled(past.volume, 310, 900, hit_rate=0.3)
    assert proved(past).verdict == "loss"


def test_without_a_cache_there_is_nothing_to_warm_up() -> None:
    past = ordered(intent=Intent.DOWNGRADE)
    Order.objects.filter(pk=past.order.pk).update(to_plan=None)
    past.order.refresh_from_db()
    sampled(past.volume, 0, 300, hit_rate=0.8)
    sampled(past.volume, 310, 900)
    proof = proved(past)
    assert (proof.after_start, proof.verdict) == (at(310), "loss")
    assert proof.result["hit_rate_after"] == 0


def test_a_bcache_volume_has_averages_alone() -> None:
    past = ordered()
    sampled(past.volume, 0, 300, hit_rate=0.2, technology=CachedBy.BCACHE)
    sampled(past.volume, 310, 900, hit_rate=0.6, read_ms=3, technology=CachedBy.BCACHE)
    result = proved(past).result
    assert result["verdict"] == "gain"
    assert result["hit_rate_after"] == pytest.approx(0.6, abs=0.001)
    assert not result["has_percentiles"]
    assert result["read_ms_p95_before"] is None


def test_a_cache_that_still_learns_is_waited_for_but_not_for_ever() -> None:
    past = ordered()
    sampled(past.volume, 0, 300)
    for n in range(60):
        sampled(past.volume, 310 + 10 * n, 320 + 10 * n, hit_rate=0.015 * n)
    proof = proved(past, seconds=420)
    assert proof.state == ProofState.WAITING
    advance(proof, at(431))
    assert (proof.state, proof.was_warm) == (ProofState.MEASURING, False)
    assert proof.after_start == at(430)


def test_nothing_is_said_before_the_time_after_is_over() -> None:
    past = faster()
    assert proved(past, seconds=440).state == ProofState.MEASURING
    proof = Proof.objects.get()
    assert advance(proof, at(450))
    assert proof.state == ProofState.READY


def test_what_comes_step_by_step_is_what_comes_at_once() -> None:
    past = faster()
    proof = begin_proof(past.order)
    assert proof is not None
    for second in range(310, 460, 5):
        advance(proof, at(second))
    assert (proof.after_start, proof.after_end) == (at(370), at(430))
    assert proof.verdict == "gain"


@pytest.mark.parametrize(
    ("began", "state"), [(330, "impossible"), (420, "impossible"), (431, "ready")]
)
def test_another_change_before_the_end_makes_it_impossible(began: int, state: str) -> None:
    past = faster()
    other = job(past.shop.there, kind="remove-cache")
    end(other, started_at=at(began), ended_at=at(began + 1))
    proof = proved(past)
    assert proof.state == state
    assert proof.reason_code == ("changed" if state == "impossible" else "")


def test_a_volume_with_another_customer_is_not_measured_for_the_former_one() -> None:
    past = faster()
    proof = begin_proof(past.order)
    take_away(past.volume)
    give(past.volume, make.customer("Next"), NOON)
    assert proof is not None
    proof = Proof.objects.select_related("order__volume", "order__job").get()
    advance(proof, at(1000))
    assert (proof.state, proof.reason_code) == (ProofState.IMPOSSIBLE, "changed")


def test_an_earlier_change_is_no_part_of_the_time_before() -> None:
    past = faster()
    end(job(past.shop.there), started_at=at(240), ended_at=at(252))
    proof = proved(past)
    assert proof.before_start == at(260)
    assert proof.after_end is not None and proof.after_start is not None
    assert proof.after_end - proof.after_start == timedelta(seconds=40)


def test_a_cache_that_was_warming_up_before_is_no_baseline() -> None:
    """Two upgrades one after another: what the second one adds is not what the first one began."""
    past = ordered()
    end(job(past.shop.there), started_at=at(140), ended_at=at(150))
    for n in range(15):
        sampled(past.volume, 150 + 10 * n, 160 + 10 * n, hit_rate=min(0.1 * n, 0.4))
    sampled(past.volume, 310, 900, hit_rate=0.4)
    proof = proved(past)
    assert proof.before_start == at(250)
    assert proof.verdict == "none"


def test_a_cache_that_never_was_warm_before_has_no_proof() -> None:
    past = ordered()
    end(job(past.shop.there), started_at=at(190), ended_at=at(200))
    for n in range(10):
        sampled(past.volume, 200 + 10 * n, 210 + 10 * n, hit_rate=0.05 * n)
    sampled(past.volume, 310, 900, hit_rate=0.6)
    proof = proved(past)
    assert (proof.state, proof.reason_code) == (ProofState.IMPOSSIBLE, "no_before")


def test_a_volume_that_was_hardly_watched_before_has_no_proof() -> None:
    past = faster()
    end(job(past.shop.there), started_at=at(260), ended_at=at(275))
    proof = proved(past)
    assert (proof.state, proof.reason_code) == (ProofState.IMPOSSIBLE, "no_before")


def test_too_few_reads_are_not_missing_figures() -> None:
    idle = ordered()
    sampled(idle.volume, 0, 300, reads=5)
    assert proved(idle).reason_code == "too_little_load"
    unseen = ordered(at=301, shop=idle.shop)
    Sample.objects.filter(volume=idle.volume).delete()
    assert proved(unseen).reason_code == "gaps"


def test_samples_that_end_after_the_change_are_reported_as_missing() -> None:
    past = ordered()
    sampled(past.volume, 0, 300)
    sampled(past.volume, 310, 370, hit_rate=0.7)
    proof = proved(past)
    assert (proof.state, proof.reason_code) == (ProofState.IMPOSSIBLE, "gaps")


def test_a_trial_is_measured_while_it_lasts(settings: Any) -> None:
    past = ordered(intent=Intent.TRIAL, trial_until=at(310 + 120))
    sampled(past.volume, 0, 300)
    sampled(past.volume, 310, 430, hit_rate=0.7, read_ms=0.5)
    settings.TIERCEL_PROOF_SECONDS = 7 * 86_400
    proof = proved(past, seconds=425)
    assert (proof.state, proof.verdict) == (ProofState.READY, "gain")
    assert proof.after_end is not None and proof.after_end <= at(405)


def test_an_order_that_only_took_another_back_has_no_proof() -> None:
    assert begin_proof(ordered(intent=Intent.REVERT).order) is None
    sweep_proofs()
    assert not Proof.objects.exists()


def test_the_sweep_makes_proofs_of_all_orders_that_are_done_and_tells_of_each_once() -> None:
    faster()
    verdicts: list[str] = []

    def hear(*, order: Order, **given: object) -> None:
        verdicts.append(order.proof.verdict)

    events.proof_ready.connect(hear)
    try:
        for _ in range(3):
            sweep_proofs()
    finally:
        events.proof_ready.disconnect(hear)
    assert verdicts == ["gain"]
    assert Proof.objects.get().state == ProofState.READY


def test_of_two_who_compare_at_once_one_tells() -> None:
    past = faster()
    proof = proved(past, seconds=440)
    twin = Proof.objects.select_related("order__job", "order__volume", "order__to_plan").get()
    assert advance(proof, at(1000))
    assert not advance(twin, at(1000))


def test_a_broken_proof_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    faster()
    second = faster(at=301)

    def broken(proof: Proof, now: object) -> bool:
        if proof.order_id != second.order.pk:
            raise ValueError("broken")
        return advance(proof, at(1000))

    monkeypatch.setattr("panel.proofs.measure.advance", broken)
    sweep_proofs()
    assert Proof.objects.get(order=second.order).is_over


def writeback(**fields: Any) -> Past:
    """An order of a plan that takes writes too."""
    past = ordered(**fields)
    CachePlan.objects.filter(pk=past.order.to_plan_id).update(mode="writeback")
    past.order.refresh_from_db()
    return past


def test_what_writes_gain_of_a_plan_that_takes_them_is_a_gain() -> None:
    past = writeback()
    sampled(past.volume, 0, 300, writes=500, write_ms=9.0)
    sampled(past.volume, 310, 900, hit_rate=0.0, writes=500, write_ms=0.3)
    proof = proved(past)
    assert (proof.state, proof.verdict) == (ProofState.READY, "gain")
    result = proof.result
    assert (result["reads_verdict"], result["writes"]["verdict"]) == ("none", "gain")
    assert (result["writes"]["ms_before"], result["writes"]["ms_after"]) == (9.0, 0.3)
    assert result["writes"]["times"] == pytest.approx(1 / 30, abs=0.001)
    assert (result["writes"]["counted"], result["is_weighed"]) == (True, False)
    assert result["writes"]["iops_after"] == 50
    assert result["confidence"] == result["writes"]["confidence"] > 0.95


def test_a_volume_that_hardly_reads_is_judged_by_its_writes() -> None:
    past = writeback()
    sampled(past.volume, 0, 300, reads=2, writes=500, write_ms=9.0)
    sampled(past.volume, 310, 900, reads=2, hit_rate=0.0, writes=500, write_ms=0.3)
    proof = proved(past)
    assert (proof.state, proof.verdict) == (ProofState.READY, "gain")
    result = proof.result
    assert (result["reads_verdict"], result["hit_rate_after"], result["read_times"]) == (
        None,
        None,
        None,
    )
    assert result["blocks_compared"] == result["writes"]["blocks_compared"] == 6


def test_writes_of_a_plan_that_takes_none_are_reported_but_make_no_gain() -> None:
    past = ordered()
    sampled(past.volume, 0, 300, hit_rate=0.5, writes=500, write_ms=9.0)
    sampled(past.volume, 310, 900, hit_rate=0.5, writes=500, write_ms=3.0)
    proof = proved(past)
    assert proof.verdict == "none"
    assert (proof.result["writes"]["verdict"], proof.result["writes"]["counted"]) == ("gain", False)


def test_without_a_read_such_a_plan_cannot_be_judged() -> None:
    past = ordered()
    sampled(past.volume, 0, 300, reads=2, writes=500, write_ms=9.0)
    sampled(past.volume, 310, 900, reads=2, hit_rate=0.0, writes=500, write_ms=3.0)
    assert proved(past).reason_code == "too_little_load"


@pytest.mark.parametrize(
    ("writes", "write_ms", "verdict"), [(2000, 0.3, "gain"), (500, 7.0, "loss")]
)
def test_fewer_reads_from_ssd_are_weighed_against_faster_writes(
    writes: int, write_ms: float, verdict: str
) -> None:
    past = writeback()
    sampled(past.volume, 0, 300, hit_rate=0.8, read_ms=2.0, writes=writes, write_ms=9.0)
    sampled(past.volume, 310, 900, hit_rate=0.4, read_ms=5.0, writes=writes, write_ms=write_ms)
    proof = proved(past)
    assert (proof.verdict, proof.result["is_weighed"]) == (verdict, True)


def test_giving_up_a_cache_that_took_writes_reports_the_loss() -> None:
    past = writeback(intent=Intent.DOWNGRADE)
    plan = past.order.to_plan
    Order.objects.filter(pk=past.order.pk).update(from_plan=plan, to_plan=None)
    past.order.refresh_from_db()
    sampled(past.volume, 0, 300, hit_rate=0.0, writes=500, write_ms=0.3)
    sampled(past.volume, 310, 900, writes=500, write_ms=9.0)
    proof = proved(past)
    assert (proof.verdict, proof.result["reads_verdict"]) == ("loss", "none")
    assert proof.result["writes"]["counted"]


def test_a_proof_begun_before_writes_were_looked_at_is_one_of_reads() -> None:
    past = writeback()
    sampled(past.volume, 0, 300, writes=500)
    sampled(past.volume, 310, 900, hit_rate=0.7, writes=500, write_ms=0.3)
    proof = begin_proof(past.order)
    assert proof is not None
    for block in proof.before:
        del block["writes"], block["write_ms"]
    Proof.objects.filter(pk=proof.pk).update(before=proof.before)
    advance(proof, at(1000))
    assert (proof.verdict, proof.result["writes"]) == ("gain", None)


def test_a_proof_is_sent_to_billing_with_the_verdict_on_all_and_charges_nothing(
    settings: Any,
) -> None:
    settings.TIERCEL_BILLING_URL = "https://billing.example/tiercel"
    settings.TIERCEL_BILLING_SECRETS = ["x" * 32]
    past = writeback()
    sampled(past.volume, 0, 300, writes=500, write_ms=9.0)
    sampled(past.volume, 310, 900, hit_rate=0.0, writes=500, write_ms=0.3)
    assert proved(past).verdict == "gain"
    message = Message.objects.get(type=MessageType.PROOF)
    assert message.payload["data"]["verdict"] == "gain"
    assert not UsageLine.objects.exists()
    past.order.refresh_from_db()
    assert (past.order.charge_minor, past.order.price_minor) == (120, 490)


def test_figures_that_are_packed_and_older_than_what_is_kept_as_measured_are_compared_too(
    settings: Any,
) -> None:
    """The proof of an order of three weeks ago, made now, as after a long pause of the panel."""
    settings.TIERCEL_PROOF_SECONDS = 2 * 86_400
    settings.TIERCEL_PROOF_WARM_SECONDS = 6 * 3600
    settings.TIERCEL_SAMPLE_SECONDS = 900
    day, began = 86_400, -20 * 86_400
    past = writeback(at=began)
    Volume.objects.filter(pk=past.volume.pk).update(created_at=at(began - 40 * day))
    past.order.refresh_from_db()
    slow = {"step": 900, "writes": 500, "write_ms": 9.0}
    fast = {"step": 900, "writes": 500, "write_ms": 0.3, "hit_rate": 0.7}
    sampled(past.volume, began - 3 * day, began, **slow)
    sampled(past.volume, began + 900, began + 4 * day, **fast)
    now = timezone.now()
    while not pack_samples(VOLUMES, now, seconds=60).is_done:
        pass
    assert not Sample.objects.filter(volume=past.volume).exists()
    settings.TIERCEL_SAMPLES_KEPT_DAYS = 2
    SampleChunk.objects.filter(resolution=Resolution.RAW).delete()
    proof = proved(past, seconds=0)
    assert (proof.state, proof.verdict) == (ProofState.READY, "gain")
    assert proof.result["blocks_compared"] == proof.result["blocks"] == 48
    assert (proof.result["reads_verdict"], proof.result["writes"]["verdict"]) == ("gain", "gain")
