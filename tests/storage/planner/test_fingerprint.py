"""The digest of what a person confirmed."""

from __future__ import annotations

import dataclasses

import pytest

from storage.planner import PlannedStep
from storage.planner.fingerprint import plan_fingerprint

ATTACH = PlannedStep("cache.attach", {"vg": "vg0", "pool": "c-a"}, {"lv_uuid": "u"}, "Attach")
FLUSH = PlannedStep(
    "cache.flush", {"vg": "vg0", "lv": "web12"}, {"lv_uuid": "u"}, "Flush", polled=True
)
SMQ = PlannedStep(
    "cache.set", {"vg": "vg0", "lv": "web12", "policy": "smq"}, {"lv_uuid": "u"}, "Set"
)


@pytest.mark.parametrize(
    "other",
    [
        (),
        (ATTACH, ATTACH),
        (dataclasses.replace(ATTACH, verb="cache.detach"),),
        (dataclasses.replace(ATTACH, args={"vg": "vg0", "pool": "c-b"}),),
        (dataclasses.replace(ATTACH, expect={"lv_uuid": "v"}),),
    ],
)
def test_other_steps_have_another_fingerprint(other: tuple[PlannedStep, ...]) -> None:
    assert plan_fingerprint(other) != plan_fingerprint((ATTACH,))


def test_the_order_of_names_and_the_words_of_a_title_do_not_count() -> None:
    args = dict(reversed(ATTACH.args.items()))
    same = dataclasses.replace(ATTACH, args=args, title="Attach the cache")
    assert plan_fingerprint((same,)) == plan_fingerprint((ATTACH,))


def test_how_much_is_dirty_just_now_does_not_count() -> None:
    assert plan_fingerprint((FLUSH, ATTACH, SMQ)) == plan_fingerprint((ATTACH,))


def test_a_setting_that_a_person_chose_counts() -> None:
    chosen = dataclasses.replace(SMQ, args={**SMQ.args, "mode": "writeback"})
    assert plan_fingerprint((chosen,)) != plan_fingerprint((SMQ,))
