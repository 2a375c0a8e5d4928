"""One change for many volumes: what is shown first, what is confirmed, and a result for each."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from jobs.engine.remaining_steps import remaining_steps
from jobs.models import Job, Kind, State
from storage.bulk_changes import MOST
from storage.byte_sizes import GIB
from storage.inventory.facts import PhysicalVolume
from storage.models import CachePlan, Volume
from storage.planner.fingerprint import plan_fingerprint
from tests import make
from tests.jobs.bulking import cached, confirmed, every, fields, owned, shown, text_of, work_off
from tests.scene import Scene, end, job, scene, step

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def found(label: str = "found") -> Scene:
    return scene(label=label, managed=False)


def cache_plan(size_gib: int = 2, mode: str = "writethrough") -> CachePlan:
    return CachePlan.objects.create(
        name="Boost", size_bytes=size_gib * GIB, mode=mode, price_minor=100, currency="EUR"
    )


def test_the_preview_says_what_would_be_done_to_each_and_stores_nothing(staff: Client) -> None:
    with_cache, without = cached(), scene(label="bare")
    page = shown(staff, "remove-cache", with_cache, without)
    text = text_of(page)
    assert page.status_code == 200
    assert "Apply to 1 volume" in text and "The volume has no cache." in text
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        ("manage", Kind.TAG_VOLUME),
        ("remove-cache", Kind.REMOVE_CACHE),
        ("set-mode", Kind.SET_CACHE),
        ("add-cache", Kind.ADD_CACHE),
        ("retire", Kind.RETIRE_VOLUME),
    ],
)
def test_a_confirmed_action_is_a_job_bound_to_the_steps_that_were_shown(
    staff: Client, action: str, kind: Kind
) -> None:
    unused = make.lv(open_count=0)
    there = {
        "manage": found,
        "add-cache": scene,
        "retire": lambda: scene(unused),
    }.get(action, cached)()
    option = {"set-mode": {"mode": "writeback"}, "add-cache": {"cache_plan": cache_plan().key}}
    page = shown(staff, action, there, **option.get(action, {}))
    result = text_of(confirmed(staff, page))
    (made,) = Job.objects.all()
    assert made.kind == kind and made.volume == there.volume and not made.dry_run
    assert made.fingerprint == page.context["drafts"][0].fingerprint != plan_fingerprint(())
    assert "1 queued" in result and reverse("job", args=[made.key]) in result


def test_to_remove_a_cache_moves_nothing_that_lies_on_ssd(staff: Client) -> None:
    there = scene(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa"), pvs=("md0",)))
    confirmed(staff, shown(staff, "remove-cache", there))
    wish = Job.objects.get().wish
    assert (wish["cache"], wish["tier"]) == (None, "ssd")


def test_each_volume_has_a_result_of_its_own(staff: Client) -> None:
    free, held = cached("free"), cached("held")
    page = shown(staff, "remove-cache", free, held)
    holder = job(held)
    text = text_of(confirmed(staff, page))
    assert "1 queued" in text and "1 not done" in text and "Another job holds the volume" in text
    assert reverse("job", args=[holder.key]) in text
    assert set(Job.objects.values_list("volume__label", flat=True)) == {"free", "held"}


def test_confirming_twice_makes_no_second_job(staff: Client) -> None:
    page = shown(staff, "remove-cache", cached())
    confirmed(staff, page)
    assert "Another job holds the volume" in text_of(confirmed(staff, page))
    assert Job.objects.count() == 1


def test_volumes_are_given_to_a_customer_at_once(staff: Client) -> None:
    first, second, theirs = found("a"), scene(label="b"), scene(label="c")
    acme = make.customer("Acme")
    Volume.objects.filter(pk=theirs.volume.pk).update(customer=acme)
    page = shown(staff, "customer", first, second, theirs, customer=acme.key)
    assert "The volume already belongs to this customer." in text_of(
        page
    ) and "Apply to the selected volumes" in text_of(page)
    assert "2 of 2" in text_of(confirmed(staff, page))
    rows = Volume.objects.filter(customer=acme).order_by("label")
    assert [(row.label, row.adopted_at is not None) for row in rows] == [
        ("a", True),
        ("b", False),
        ("c", False),
    ]


def test_a_volume_goes_from_one_customer_to_another_by_way_of_none(staff: Client) -> None:
    there, acme, zebra = scene(), make.customer("Acme"), make.customer("Zebra")
    Volume.objects.filter(pk=there.volume.pk).update(customer=acme)
    straight = shown(staff, "customer", there, customer=zebra.key)
    assert "The volume belongs to Acme. First remove its customer." in text_of(straight)
    taking = shown(staff, "nobody", there, customer=zebra.key)
    assert "Remove the customer Acme" in text_of(taking)
    assert "1 of 1" in text_of(confirmed(staff, taking))
    assert Volume.objects.get(pk=there.volume.pk).customer is None
    confirmed(staff, shown(staff, "customer", there, customer=zebra.key))
    assert Volume.objects.get(pk=there.volume.pk).customer == zebra


def test_a_volume_that_another_customer_got_meanwhile_is_not_given_away(staff: Client) -> None:
    there, acme, zebra = scene(), make.customer("Acme"), make.customer("Zebra")
    page = shown(staff, "customer", there, customer=zebra.key)
    Volume.objects.filter(pk=there.volume.pk).update(customer=acme)
    assert "The volume belongs to Acme." in text_of(confirmed(staff, page))
    assert Volume.objects.get(pk=there.volume.pk).customer == acme


@pytest.mark.parametrize("action", ["customer", "nobody"])
def test_a_volume_stays_whose_it_is_while_a_job_changes_it(staff: Client, action: str) -> None:
    there, acme = scene(), make.customer("Acme")
    owner = acme if action == "nobody" else None
    Volume.objects.filter(pk=there.volume.pk).update(customer=owner)
    page = shown(staff, action, there, customer=acme.key)
    job(there)
    assert "A job is changing the volume." in text_of(
        shown(staff, action, there, customer=acme.key)
    )
    assert "A job is changing the volume." in text_of(confirmed(staff, page))
    assert Volume.objects.get(pk=there.volume.pk).customer == owner


def test_a_volume_that_a_customer_pays_for_is_not_given_away(staff: Client) -> None:
    there = scene()
    Volume.objects.filter(pk=there.volume.pk).update(cache_plan=cache_plan())
    page = shown(staff, "customer", there, customer=make.customer().key)
    assert "pays for a cache plan" in text_of(page) and "disabled" in text_of(page)


@pytest.mark.parametrize("action", ["customer", "add-cache", "set-mode"])
def test_an_action_that_needs_an_option_asks_for_it_first(staff: Client, action: str) -> None:
    page = shown(staff, action, cached())
    assert page.status_code == 200
    assert ">Preview</button>" in text_of(page)
    assert 'name="sealed"' not in page.content.decode()


def two_on(*ssds: PhysicalVolume) -> tuple[Volume, Volume]:
    """Two volumes of one host with these SSDs."""
    first = scene(label="first", pvs=(make.pv(), *ssds))
    host, facts = first.host, first.facts
    more = make.lv("second", tags=make.tags("aaaaaaaaaaaaaaaa"))
    host.facts = make.inventory(make.facts(*facts.lvs, more, pvs=facts.pvs))
    host.save()
    second = make.volume(key="aaaaaaaaaaaaaaaa", label="second", managed=True)
    make.placement(second, host, lv_name="second", lv_uuid=more.uuid)
    return first.volume, second


def caches_for(client: Client, *volumes: Volume) -> Any:
    """The preview of a cache of 3 GiB for each."""
    chosen = {"volume": [each.key for each in volumes], "cache_plan": cache_plan(3).key}
    return client.post(reverse("volumes-bulk"), {"action": "add-cache", **chosen})


def test_caches_are_promised_the_room_that_those_before_them_leave(staff: Client) -> None:
    page = caches_for(staff, *two_on(make.fast_pv(free_bytes=5 * GIB)))
    (first,), (last,) = page.context["drafts"], page.context["refused"]
    assert first.refused is None
    assert last.refused is not None and last.refused.code == "no_space"


def test_each_cache_comes_on_the_ssd_that_was_promised_whichever_is_first(staff: Client) -> None:
    ssds = make.fast_pv("md0", free_bytes=41 * GIB), make.fast_pv("md1", free_bytes=40 * GIB)
    page = caches_for(staff, *two_on(*ssds))
    confirmed(staff, page)
    first, last = Job.objects.order_by("pk")
    assert (first.disks, last.disks) == ({"pool.create": ["md0"]}, {"pool.create": ["md1"]})
    facts = first.host.inventory
    assert facts is not None
    # Neither pool is there yet.
    assert plan_fingerprint(remaining_steps(last, facts)) == last.fingerprint
    assert plan_fingerprint(remaining_steps(first, facts)) == first.fingerprint


def test_the_commands_of_one_are_those_on_the_ssd_that_was_promised(staff: Client) -> None:
    ssds = make.fast_pv("md0", free_bytes=41 * GIB), make.fast_pv("md1", free_bytes=40 * GIB)
    first, second = two_on(*ssds)
    (sealed,) = re.findall(
        r'name="sealed" value="([^"]+)"', text_of(caches_for(staff, first, second))
    )
    staff.post(reverse("volumes-bulk-commands", args=[second.key]), {"sealed": sealed})
    assert Job.objects.get(dry_run=True).disks == {"pool.create": ["md1"]}


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (State.NEEDS_ATTENTION, "A job on this volume needs a decision."),
        (State.QUEUED, "A job is changing the volume."),
    ],
)
def test_a_volume_that_a_job_holds_is_skipped_with_a_link_to_the_job(
    staff: Client, state: State, reason: str
) -> None:
    there, other = cached(mode="writeback"), cached("other", mode="writeback")
    holder = job(there, state=state)
    text = text_of(shown(staff, "set-mode", there, other, mode="writethrough"))
    assert "Apply to 1 volume" in text and reason in text
    assert reverse("job", args=[holder.key]) in text


def test_writeback_for_many_is_refused_where_the_ssd_is_alone(staff: Client) -> None:
    alone = (make.pv(), make.fast_pv(redundant=False))
    there = scene(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")), pvs=alone)
    page = shown(staff, "set-mode", there, mode="writeback")
    assert "The SSD is not redundant" in text_of(page)


def test_a_mode_that_is_there_already_is_nothing_to_do(staff: Client) -> None:
    page = shown(staff, "set-mode", cached(mode="writethrough"), mode="writethrough")
    assert "No changes needed." in text_of(page)


def test_managing_changes_nothing_but_the_tag(staff: Client) -> None:
    odd = make.dm_cache("c-aaaaaaaaaaaaaaaa", policy="cleaner")
    there = scene(make.lv(cache=odd), managed=False)
    assert "would also change its settings" in text_of(shown(staff, "manage", there))


def test_nothing_chosen_is_said_and_no_other_persons_key_helps(staff: Client) -> None:
    page = staff.post(reverse("volumes-bulk"), {"action": "manage"}, follow=True)
    assert "Choose volumes first." in text_of(page)
    asked = {"action": "manage", "volume": ["missing"]}
    ghost = staff.post(reverse("volumes-bulk"), asked, follow=True)
    assert "Choose volumes first." in text_of(ghost)


def test_more_than_a_page_can_answer_for_are_refused(staff: Client) -> None:
    Volume.objects.bulk_create(Volume(label=f"v{n}", size_bytes=GIB) for n in range(MOST + 1))
    chosen = {"action": "manage", "every": "1", "list": ""}
    page = staff.post(reverse("volumes-bulk"), chosen, follow=True)
    assert f"at most {MOST}" in text_of(page)


def test_all_that_the_list_finds_are_chosen_not_only_its_page(staff: Client) -> None:
    owned(60)
    make.volume(label="other", customer=make.customer("Zebra"))
    page = every(staff, "customer=acme&size=25&page=2")
    assert page.context["good_count"] == 60
    confirmed(staff, page)
    assert set(Volume.objects.exclude(customer=None).values_list("label", flat=True)) == {"other"}


def test_what_is_skipped_is_counted_by_its_reason(staff: Client) -> None:
    owned(3)
    for n in range(2):
        make.volume(label=f"free {n}")
    page = every(staff, "")
    assert (page.context["good_count"], page.context["skipped_count"]) == (3, 2)
    ((_, count),) = page.context["skipped"]
    assert count == 2


def test_the_result_follows_the_jobs_and_stops_asking_when_they_are_over(staff: Client) -> None:
    free, held = cached("free"), cached("held")
    address = confirmed(staff, shown(staff, "remove-cache", free, held)).request["PATH_INFO"]
    assert 'hx-trigger="every 2s"' in text_of(staff.get(address))
    done, failed = Job.objects.order_by("volume__label")
    end(done, State.SUCCEEDED)
    end(failed, State.FAILED)
    text = text_of(staff.get(address))
    assert "2 of 2" in text and "1 failed" in text and "every 2s" not in text
    assert text.index("held") < text.index("free"), "the worst first"


def test_a_volume_that_went_meanwhile_is_reported_and_the_others_are_done(staff: Client) -> None:
    first, last = owned(2)
    page = every(staff, "")
    Volume.objects.filter(pk=first.pk).delete()
    assert "no longer exists" in text_of(confirmed(staff, page))
    last.refresh_from_db()
    assert last.customer is None


def test_what_was_shown_to_another_person_is_not_done(staff: Client) -> None:
    first, second = two_on(make.fast_pv("md0", free_bytes=90 * GIB))
    page = text_of(caches_for(staff, first, second))
    (sealed,) = re.findall(r'name="sealed" value="([^"]+)"', page)
    other = Client()
    other.force_login(make.staff_user())
    for name in ("volumes-bulk-confirm", "volumes-bulk-commands"):
        args = [second.key] if name.endswith("commands") else []
        refused = other.post(reverse(name, args=args), {"sealed": sealed}, follow=True)
        assert "Create a new preview" in text_of(refused)
    assert not Job.objects.exists()


@pytest.mark.parametrize("sealed", ["", "nonsense", "eyJhIjoxfQ:1x:y"])
def test_what_was_never_shown_is_not_done(staff: Client, sealed: str) -> None:
    there = cached()
    page = staff.post(reverse("volumes-bulk-confirm"), {"sealed": sealed}, follow=True)
    assert "Create a new preview. Nothing was changed." in text_of(page)
    assert not Job.objects.filter(volume=there.volume).exists()


def test_looking_is_not_enough(client: Client) -> None:
    client.force_login(make.staff_user(staff_role="read_only"))
    there = cached()
    assert shown(client, "remove-cache", there).status_code == 403
    assert "Select volumes, then an action" not in text_of(client.get(reverse("volumes")))


def test_what_changes_stands_first_and_may_be_unticked(staff: Client) -> None:
    kept, changed, without = cached("kept"), cached("changed"), scene(label="bare")
    page = shown(staff, "remove-cache", without, kept, changed)
    text = text_of(page)
    assert text.index(">changed<") < text.index("</span> skipped") < text.index(">bare<")
    assert "Apply to the selected volumes" in text
    sent = {**fields(page), "take": [changed.volume.key]}
    staff.post(reverse("volumes-bulk-confirm"), sent)
    work_off()
    assert [each.volume for each in Job.objects.all()] == [changed.volume]
    nothing = staff.post(reverse("volumes-bulk-confirm"), {**sent, "take": []}, follow=True)
    assert "No volume was selected" in text_of(nothing)


def test_a_row_of_the_result_says_how_far_its_job_is(staff: Client) -> None:
    address = confirmed(staff, shown(staff, "remove-cache", cached("web"))).request["PATH_INFO"]
    running = Job.objects.get()
    progress = {"label": "Flushed", "done_bytes": GIB, "total_bytes": 4 * GIB}
    step(running, state="running", progress=progress, op_id=uuid4())
    assert "Flushed: 1\xa0GiB of 4\xa0GiB" in text_of(staff.get(address))
