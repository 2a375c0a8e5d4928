"""One explanation in two voices: staff read names, customers read shares."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest

from storage.analysis.slowness import customer_words, staff_words
from storage.analysis.slowness.explanation import Help, Lack, SlowExplanation, SpeedState, Timing
from storage.inventory.volume_parts import VolumeUser
from tests import make
from tests.scene import HOSTILE
from tests.storage.analysis.slowness.explained import (
    LATELY,
    NOISY,
    NOON,
    SLOW,
    VICTIM,
    disk,
    explained,
    offer,
)

LABELS = {VICTIM: "mail1", NOISY: HOSTILE}
NEIGHBOUR = explained(disk((NOISY, 0.9), (VICTIM, 0.1)), offer(NOISY))
FEW = explained(None, lacks=[Lack.SAMPLES], timing=Timing(SpeedState.UNKNOWN, NOON))
OVER = Timing(SpeedState.OVER, NOON, NOON - timedelta(hours=1), NOON, looked_from=LATELY)
SILENT = dataclasses.replace(SLOW, state=SpeedState.UNKNOWN)
EBBING = dataclasses.replace(SLOW, is_ebbing=True)
EVERY = (
    NEIGHBOUR,
    FEW,
    explained(disk((NOISY, 0.3), (3, 0.3), (4, 0.3), (VICTIM, 0.1))),
    explained(disk((VICTIM, 0.9))),
    explained(disk((VICTIM, 0.1), other=0.9)),
    explained(disk((VICTIM, 0.9), busy=0.2)),
    explained(disk((VICTIM, 0.9), busy=0.2, is_fast=True)),
    explained(disk((NOISY, 0.9), (VICTIM, 0.1)), faults=[f"{HOSTILE} is failing."]),
    explained(disk((VICTIM, 0.9)), timing=OVER),
    explained(disk((VICTIM, 0.9)), timing=Timing(SpeedState.WELL, NOON), read_ms=3.0),
    explained(disk((VICTIM, 0.9)), timing=Timing(SpeedState.WELL, NOON), read_ms=None),
    explained(disk((NOISY, 0.9), (VICTIM, 0.1)), timing=EBBING),
)


def test_staff_read_who_has_how_much_of_which_disk() -> None:
    assert staff_words.what_is(NEIGHBOUR) == (
        "For 12 min, a read has taken 24.2 ms on average (20 ms is slow)."
    )
    assert staff_words.disk_name(NEIGHBOUR) == "HDD sdc"
    assert staff_words.why_is(NEIGHBOUR, {NOISY: "web12"}) == (
        "web12 has 90 % of the I/O time of sdc, this volume 10 %."
    )
    [cache, limit] = NEIGHBOUR.remedies
    assert staff_words.remedy_words(NEIGHBOUR, cache, {NOISY: "web12"}).title == (
        "Add a cache of 16 GiB to web12"
    )
    assert limit.help == Help.LIMIT


def test_a_guest_of_libvirt_is_limited_by_a_line_that_a_shell_cannot_misread() -> None:
    user = VolumeUser("guest", "web 12; reboot", "vda", 7, domain="6a7c1e4e")
    lv = dataclasses.replace(make.lv(), users=(user,))
    words = staff_words.remedy_words(NEIGHBOUR, NEIGHBOUR.remedies[1], LABELS, lv, 801.0)
    assert words.commands == (
        "virsh blkdeviotune 'web 12; reboot' vda --live --total-iops-sec 400",
    )
    assert words.undo.endswith("--total-iops-sec 0")
    other = staff_words.remedy_words(NEIGHBOUR, NEIGHBOUR.remedies[1], LABELS, make.lv(), 801.0)
    assert other.commands == () and "where you manage your guests" in other.reason


def test_that_nothing_helps_is_said_with_the_reason() -> None:
    full = explained(disk((VICTIM, 0.9)), offer(VICTIM, 8, obstacle="No SSD is left."))
    assert staff_words.no_remedy(full) == ""
    assert staff_words.closed_caches(full, LABELS) == ("No cache for this volume: No SSD is left.",)
    assert staff_words.no_remedy(NEIGHBOUR) == ""
    assert "is over when" in staff_words.no_remedy(EVERY[4])
    assert "Without a reason" in staff_words.no_remedy(FEW)


def test_a_disk_has_words_of_its_own() -> None:
    of = explained(disk((NOISY, 0.8), (VICTIM, 0.2)), volume=None)
    assert staff_words.what_is(of) == (
        "It has more to do than it can: 4.0 I/Os are under way at a time."
    )
    assert staff_words.why_is(of, {NOISY: "web12"}) == "web12 has 80 % of the I/O time of sdc."


@pytest.mark.parametrize("each", EVERY)
def test_a_customer_reads_no_name_of_a_disk_or_a_neighbour(each: SlowExplanation) -> None:
    said = " ".join(
        (
            customer_words.what_is(each),
            customer_words.where_is(each),
            customer_words.why_is(each),
            customer_words.helps(each, has_cache=True, has_forecast=True),
            customer_words.helps(each, has_cache=False, has_forecast=False),
            customer_words.question(each),
        )
    )
    assert "sdc" not in said and HOSTILE not in said and "{" not in said
    assert customer_words.what_is(each) and customer_words.why_is(each)
    assert staff_words.what_is(each) and staff_words.why_is(each, LABELS)


def test_a_customer_reads_the_shares() -> None:
    assert customer_words.why_is(NEIGHBOUR) == (
        "Other volumes use 90 % of the time of this disk, your volume uses 10 %."
    )
    assert customer_words.where_is(NEIGHBOUR) == (
        "Your volume waits for the slow disk (HDD), which is 95 % busy."
    )


def test_a_customer_is_sold_nothing_that_does_not_help() -> None:
    said = customer_words.helps(NEIGHBOUR, has_cache=False, has_forecast=True)
    assert said.startswith("Reads from a cache") and said.endswith("show what each would bring.")
    for each in (FEW, EVERY[4], EVERY[6]):
        assert customer_words.helps(each, has_cache=False, has_forecast=True) == ""


def test_without_a_forecast_plans_are_not_said_to_show_one() -> None:
    assert customer_words.helps(NEIGHBOUR, has_cache=False, has_forecast=False) == (
        "Reads from a cache do not wait for this disk."
    )
    assert customer_words.helps(NEIGHBOUR, has_cache=True, has_forecast=False) == (
        "A larger cache may help."
    )


def test_a_first_slow_minute_is_not_called_slow_and_not_well_either() -> None:
    rising = explained(disk((NOISY, 0.9), (VICTIM, 0.1)), timing=Timing(SpeedState.WELL, NOON))
    assert staff_words.what_is(rising) == (
        "For 12 min, a read has taken 24.2 ms on average (20 ms is slow once it lasts 2 min)."
    )
    assert staff_words.no_remedy(rising) == "It is not slow yet: look again in a minute."
    assert customer_words.what_is(rising) == (
        "For 12 min, a read has taken 24.2 ms on average. Once that lasts 2 min, we call it slow."
    )


def test_what_has_been_well_for_a_moment_still_counts_as_slow_and_is_in_the_past() -> None:
    ebbing = explained(disk((NOISY, 0.9), (VICTIM, 0.1)), timing=EBBING)
    assert ebbing.is_slow and staff_words.what_is(ebbing) == (
        "For 12 min, a read took 24.2 ms on average (20 ms is slow). Reads have been faster since "
        "12:00 UTC: it counts as slow until that lasts 5 min."
    )
    assert staff_words.why_is(ebbing, {NOISY: "web12"}).startswith("web12 had 90 %")
    assert customer_words.question(ebbing) == "Why is it slow?"
    assert customer_words.what_is(ebbing) == (
        "For 12 min, a read took 24.2 ms on average. Reads are faster now: once that lasts 5 min, "
        "we no longer call it slow."
    )


def test_what_is_over_is_described_in_the_past() -> None:
    over = explained(disk((NOISY, 0.9), (VICTIM, 0.1)), timing=OVER)
    assert staff_words.why_is(over, {NOISY: "web12"}).startswith("web12 had 90 %")
    assert customer_words.what_is(over) == "Reads are no longer slow."
    assert customer_words.where_is(over) == (
        "Your volume waited for the slow disk (HDD), which was 95 % busy."
    )
    assert customer_words.why_is(over).startswith("Other volumes used 90 % of the time")
    said = customer_words.helps(over, has_cache=False, has_forecast=True)
    assert said.startswith("Reads from a cache")
    assert staff_words.what_is(over) == (
        "Its reads are no longer slow. For 12 min, a read took 24.2 ms on average (20 ms is slow)."
    )


def test_a_slow_time_whose_average_is_below_the_limit_is_said_to_end_only_well_below() -> None:
    dipping = explained(disk((NOISY, 0.9), (VICTIM, 0.1)), read_ms=18.6)
    assert staff_words.what_is(dipping) == (
        "For 12 min, a read has taken 18.6 ms on average (slow from 20 ms until below 15 ms for 5 "
        "min)."
    )


def test_a_silent_host_does_not_hide_the_reason_of_its_last_figures() -> None:
    silent = explained(
        disk((NOISY, 0.9), (VICTIM, 0.1)), timing=SILENT, lacks=[Lack.SAMPLES], read_ms=24.6
    )
    assert staff_words.what_is(silent) == (
        "How fast it is now is not known. By its last figures, for 12 min, a read took 24.6 ms on "
        "average (20 ms is slow)."
    )
    assert staff_words.why_is(silent, {NOISY: "web12"}) == (
        "At 12:00 UTC: web12 had 90 % of the I/O time of sdc, this volume 10 %."
    )
    assert staff_words.lacks(silent) == (
        "There are no figures since 12:00 UTC: look whether the host answers and the volume is "
        "active.",
    )
    assert customer_words.why_is(silent).startswith("Other volumes used 90 %")


def test_a_disk_that_is_half_idle_is_not_said_to_keep_i_o_queueing() -> None:
    half = explained(disk((VICTIM, 0.9), busy=0.4))
    assert staff_words.why_is(half, LABELS).endswith("Most of a read's time is the disk's own.")
    assert customer_words.why_is(half).endswith("Most of the time of a read is the disk's own.")
    full = explained(disk((VICTIM, 0.9), busy=0.8))
    assert staff_words.why_is(full, LABELS).endswith("its I/O queues behind its own.")


def test_a_faulty_disk_is_not_called_busy_with_a_check() -> None:
    faulty = explained(disk((NOISY, 0.9)), faults=["sdc reports 12 pending sectors."])
    said = customer_words.why_is(faulty)
    assert "has a fault" in said and "check" not in said and "sdc" not in said


def test_an_idle_ssd_is_not_called_a_slow_disk() -> None:
    idle = explained(disk((VICTIM, 0.9), busy=0.1, is_fast=True))
    assert customer_words.why_is(idle).startswith("This SSD has little to do")
    idle_hdd = explained(disk((VICTIM, 0.9), busy=0.1))
    assert "a slow disk needs" in customer_words.why_is(idle_hdd)


def test_reads_that_are_not_slow_are_not_said_to_take_as_long_as_an_hdd() -> None:
    now = Timing(SpeedState.WELL, NOON, looked_from=LATELY)
    well = explained(disk((VICTIM, 0.9), busy=0.1), timing=now)
    assert staff_words.why_is(well, LABELS).endswith("hardly any I/O waits for another.")
    assert customer_words.why_is(well) == "The disk has little to do."


def test_too_few_figures_are_no_guess() -> None:
    assert customer_words.why_is(FEW) == "There is too little data to name a reason."
    assert staff_words.why_is(FEW, LABELS) == "The figures name no reason."
    assert set(staff_words.LACKS) == set(Lack)
