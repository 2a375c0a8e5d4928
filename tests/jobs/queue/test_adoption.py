"""Adoption from the first page to the job that tags, and back."""

from __future__ import annotations

import re
from unittest import mock

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from jobs.models import Job, Kind, State
from jobs.queue.adoption import release_adopted
from jobs.requester import Requester
from panel.models import User
from storage.discovery.ingest import apply_facts
from storage.inventory.volume_parts import VolumeUser
from storage.models import Customer, Volume
from storage.planner import plan
from storage.planner.wish import Wish
from tests import make
from tests.one_line import on_one_line
from tests.scene import HOSTILE, Scene, end, scene

pytestmark = pytest.mark.django_db
HEAD = "volume,customer,external_id\n"


@pytest.fixture
def operator() -> User:
    return make.staff_user(staff_role="operator")


@pytest.fixture
def client(client: Client, operator: User) -> Client:
    client.force_login(operator)
    return client


def found(name: str = "web12", *, allowed: bool = False, guest: str = "", mount: str = "") -> Scene:
    users = ((VolumeUser("qemu", guest, "vda", 7),) if guest else ()) + (
        (VolumeUser("mount", mount, "", None),) if mount else ()
    )
    there = scene(
        make.lv(name, users=users), label=name, managed=False, vgs=(make.vg(allowed=allowed),)
    )
    apply_facts(there.host, make.inventory(there.facts), timezone.now())
    return there


def preview(client: Client, **fields: object) -> str:
    response = client.post(reverse("adopt"), {"way": "pattern", "pattern": "*", **fields})
    assert response.status_code == 200, response.content.decode()
    return on_one_line(response.content.decode())


def confirm(client: Client, page: str) -> HttpResponse:
    sealed = page.split('name="sealed" value="')[1].split('"')[0]
    taken = re.findall(r'name="take" value="([^"]+)"', page)
    return client.post(reverse("adopt-confirm"), {"sealed": sealed, "take": taken})  # type: ignore[return-value]


def test_the_first_page_offers_both_ways_and_counts_what_has_no_customer(client: Client) -> None:
    found()
    text = client.get(reverse("adopt")).content.decode()
    assert "By name pattern" in text
    assert "By CSV" in text
    assert "1 unassigned volume<" in text


def test_a_preview_stores_nothing(client: Client) -> None:
    there = found()
    text = preview(client, new_customer="Acme")
    assert "will be adopted" in text
    assert "root has not allowed vg0 yet. Then press Tag them on the Adopt page" in text
    there.volume.refresh_from_db()
    assert there.volume.customer is None
    assert not Customer.objects.exists()


def test_where_only_looking_is_allowed_an_adoption_is_recorded_and_says_so(client: Client) -> None:
    there = found()
    text = confirm(client, preview(client, new_customer="Acme")).content.decode()
    assert "1 volume adopted" in text
    assert "root has not allowed vg0 yet. Then press Tag them on the Adopt page" in text
    there.volume.refresh_from_db()
    assert there.volume.customer is not None
    assert there.volume.customer.name == "Acme"
    assert there.volume.adopted_at is not None
    assert not Job.objects.exists()


def test_where_the_group_is_allowed_a_job_tags_the_volume(client: Client, operator: User) -> None:
    there = found(allowed=True)
    confirm(client, preview(client, new_customer="Acme"))
    job = Job.objects.get()
    assert (job.kind, job.volume, job.actor) == (Kind.TAG_VOLUME, there.volume, operator)
    assert job.wish["size_bytes"] == there.volume.size_bytes
    assert not job.dry_run


def test_customers_are_named_as_their_guests(client: Client) -> None:
    for name, guest in (("v1", "shop"), ("v2", "shop"), ("v3", "blog"), ("v4", "")):
        found(name, guest=guest)
    text = preview(client, by_guest="on")
    assert "no guest whose name could be used" in text
    confirm(client, text)
    owners = {v.label: v.customer and v.customer.name for v in Volume.objects.all()}
    assert owners == {"v1": "shop", "v2": "shop", "v3": "blog", "v4": None}
    assert Customer.objects.count() == 2


def test_a_pattern_leaves_the_hosts_own_volumes_out(client: Client) -> None:
    found("root", mount="/")
    text = preview(client, new_customer="Acme")
    assert "The host itself runs on this volume (mounted at /)" in text
    assert "disabled" in text


def test_a_pattern_may_be_kept_to_one_host(client: Client) -> None:
    here, other = found("here"), found("other")
    confirm(client, preview(client, host=here.host.key, new_customer="Acme"))
    assert Volume.objects.get(customer__name="Acme") == here.volume
    assert Volume.objects.get(customer=None) == other.volume


def test_a_csv_file_sets_customer_external_id_and_label(client: Client) -> None:
    there, customer = found(), make.customer("Acme")
    rows = f"volume,customer,external_id,label\n{there.host.name}:vg0/web12,Acme,vps-7,Shop\n"
    file = SimpleUploadedFile("volumes.csv", rows.encode())
    response = client.post(reverse("adopt"), {"way": "csv", "file": file})
    confirm(client, response.content.decode())
    there.volume.refresh_from_db()
    assert (there.volume.customer, there.volume.external_id) == (customer, "vps-7")
    assert there.volume.label == "Shop"


def test_each_way_in_which_a_csv_row_can_fail_is_distinguished(client: Client) -> None:
    there, _twin = found("twice"), found("twice")
    make.volume(external_id="taken")
    make.customer("Acme")
    found("one"), found("two")
    text = (
        f"{HEAD}vg0/none,Acme,1\nvg0/twice,Acme,2\nvg0/one,Acme,taken\nvg0/two,Unknown,3\n"
        f"{there.host.name}:vg0/twice,Acme,4\n"
    )
    page = on_one_line(client.post(reverse("adopt"), {"way": "csv", "text": text}).content.decode())
    for words in ("unknown", "ambiguous", "external id taken", "customer unknown"):
        assert f"</svg>{words}</span>" in page
    assert "Adopt 1 volume <" in page


def test_a_bad_csv_is_refused_with_its_line_and_kept_in_the_form(client: Client) -> None:
    response = client.post(reverse("adopt"), {"way": "csv", "text": "volume,label\nvg0/a,Acme\n"})
    assert response.status_code == 422
    text = response.content.decode()
    assert (
        "Line 1: expected header volume,customer[,external_id,label]. Nothing was stored." in text
    )
    assert "vg0/a,Acme" in text


def test_a_bad_line_has_a_verdict_of_its_own_and_the_others_are_adopted(client: Client) -> None:
    there = found()
    place = f"{there.host.name}:vg0/{there.lv.name}"
    lines = f"{HEAD}{place},Acme,7\nvg0/b,Acme\n"
    asked = {"way": "csv", "text": lines, "new_customers": "on"}
    page = on_one_line(client.post(reverse("adopt"), asked).content.decode())
    assert "Line 3: 2 fields, expected 3." in page and "Adopt 1 volume" in page
    confirm(client, page)
    assert Volume.objects.get(external_id="7").customer == Customer.objects.get(name="Acme")


def test_a_pattern_without_one_customer_is_refused(client: Client) -> None:
    for fields in ({}, {"new_customer": "Acme", "by_guest": "on"}):
        response = client.post(reverse("adopt"), {"way": "pattern", "pattern": "*", **fields})
        assert response.status_code == 422
        assert "Choose exactly one" in response.content.decode()


def test_an_adoption_judges_only_once_no_other_can_be_under_way(client: Client) -> None:
    found()
    page = preview(client, new_customer="Acme")
    with CaptureQueriesContext(connection) as queries:
        confirm(client, page)
    statements = [query["sql"] for query in queries]
    locked = next(n for n, sql in enumerate(statements) if "FOR NO KEY UPDATE" in sql)
    judged = next(n for n, sql in enumerate(statements) if 'FROM "storage_placement"' in sql)
    assert locked < judged


def test_confirming_twice_adopts_once(client: Client) -> None:
    found()
    page = preview(client, new_customer="Acme")
    confirm(client, page)
    assert "already adopted" in confirm(client, page).content.decode()
    assert Customer.objects.count() == 1


def test_a_preview_that_was_altered_stores_nothing(client: Client) -> None:
    found()
    preview(client, new_customer="Acme")
    response = client.post(reverse("adopt-confirm"), {"sealed": "forged"}, follow=True)
    assert "preview is too old" in response.content.decode()
    assert not Customer.objects.exists()


def test_the_last_adoption_is_undone_as_one(client: Client) -> None:
    first, one, two = found("first"), found("one"), found("two")
    confirm(client, preview(client, pattern="first", new_customer="Acme"))
    rows = "volume,customer,external_id,label\nvg0/one,Acme,1,Shop\nvg0/two,Acme,2,\n"
    response = client.post(reverse("adopt"), {"way": "csv", "text": rows})
    confirm(client, response.content.decode())
    text = client.post(reverse("adopt-undo"), follow=True).content.decode()
    assert "Undone for 2 volumes" in text
    for there in (first, one, two):
        there.volume.refresh_from_db()
    assert first.volume.customer is not None
    assert (one.volume.customer, one.volume.external_id, one.volume.label) == (None, "", "one")
    assert (two.volume.adopted_at, two.volume.external_id) == (None, "")


def test_a_waiting_tag_job_is_cancelled_by_undoing(client: Client) -> None:
    there = found(allowed=True)
    confirm(client, preview(client, new_customer="Acme"))
    client.post(reverse("adopt-undo"), {"volume": there.volume.key})
    there.volume.refresh_from_db()
    assert there.volume.customer is None
    assert Job.objects.get().state == State.CANCELLED


def test_a_volume_that_is_forgotten_meanwhile_is_reported_and_the_others_are_released() -> None:
    volumes = [make.volume(label=label, adopted_at=timezone.now()) for label in ("gone", "there")]
    Volume.objects.filter(pk=volumes[0].pk).delete()
    undone = release_adopted(volumes, Requester(make.staff_user(), None))
    assert [volume.label for volume in undone.released] == ["there"]
    assert [(volume.label, why) for volume, why in undone.kept] == [
        ("gone", "The volume no longer exists.")
    ]


def test_an_adoption_on_which_a_job_has_run_stays(client: Client) -> None:
    there = found(allowed=True)
    confirm(client, preview(client, new_customer="Acme"))
    end(Job.objects.get())
    text = client.post(reverse("adopt-undo"), follow=True).content.decode()
    assert "web12 stays adopted. A job has run on the volume since." in text
    there.volume.refresh_from_db()
    assert there.volume.customer is not None


def test_volumes_are_tagged_later_once_their_group_is_allowed(client: Client) -> None:
    there = found()
    confirm(client, preview(client, new_customer="Acme"))
    assert "can be tagged now" not in client.get(reverse("adopt")).content.decode()
    allowed = make.facts(there.lv, vgs=(make.vg(allowed=True),))
    apply_facts(there.host, make.inventory(allowed), timezone.now())
    assert "1 adopted volume can be tagged now" in client.get(reverse("adopt")).content.decode()
    client.post(reverse("adopt-tag"))
    client.post(reverse("adopt-tag"))
    assert Job.objects.get().kind == Kind.TAG_VOLUME


def test_one_request_makes_a_bounded_number_of_jobs_and_says_what_is_left(client: Client) -> None:
    for name in ("a", "b", "c"):
        found(name, allowed=True)
    with mock.patch("jobs.queue.adoption.TAGS_AT_ONCE", 2):
        text = confirm(client, preview(client, new_customer="Acme")).content.decode()
    assert "3 volumes adopted" in text
    assert "To tag it, press Tag them" in text
    assert Job.objects.count() == 2
    client.post(reverse("adopt-tag"))
    assert Job.objects.count() == 3


def test_a_foreign_cache_tiercel_cannot_describe_is_adopted_without_a_tag(client: Client) -> None:
    cache = make.dm_cache("theirs", mode="passthrough")
    scene(make.lv(cache=cache), managed=False)
    text = confirm(client, preview(client, new_customer="Acme")).content.decode()
    assert "Tiercel does not change this kind of cache" in text
    assert not Job.objects.exists()


def test_a_hand_made_writeback_cache_is_tagged_as_it_is(client: Client) -> None:
    cache = make.dm_cache("theirs", mode="writeback", migration_threshold_sectors=2048)
    there = scene(
        make.lv(cache=cache), managed=False, pvs=(make.pv(), make.fast_pv(redundant=False))
    )
    confirm(client, preview(client, new_customer="Acme"))
    steps = plan(there.facts, there.volume.placed.target, Wish.from_json(Job.objects.get().wish))
    assert [step.verb for step in steps] == ["volume.tag"]


def test_a_cache_that_is_being_emptied_by_hand_is_left_alone(client: Client) -> None:
    scene(make.lv(cache=make.dm_cache("theirs", policy="cleaner")), managed=False)
    text = confirm(client, preview(client, new_customer="Acme")).content.decode()
    assert "not tagged: the tag job would also set the cache&#x27;s policy to smq" in text
    assert not Job.objects.exists()


def test_names_from_hosts_are_shown_and_not_run(client: Client) -> None:
    found(guest=HOSTILE)
    text = preview(client, by_guest="on")
    assert HOSTILE not in text
    assert HOSTILE not in confirm(client, text).content.decode()


@pytest.mark.parametrize("name", ["adopt", "adopt-confirm", "adopt-undo", "adopt-tag"])
def test_adoption_is_for_operators(client: Client, name: str) -> None:
    client.force_login(make.user())
    assert client.post(reverse(name)).status_code == 404
    client.force_login(make.staff_user(staff_role="read_only"))
    assert client.post(reverse(name)).status_code == 403


def test_volumes_are_adopted_from_the_list_by_a_customer_in_their_row(client: Client) -> None:
    north = Customer.objects.create(name="Northwind Web")
    mine, other = found("mine"), found("other")
    page = client.get(reverse("adopt")).content.decode()
    assert f"{mine.host.name}:vg0/mine" in page and f"{other.host.name}:vg0/other" in page
    rows = {
        "form-TOTAL_FORMS": "2", "form-INITIAL_FORMS": "2",
        "form-0-volume": mine.lv.uuid, "form-0-customer": "north",
        "form-1-volume": other.lv.uuid, "form-1-customer": "",
    }  # fmt: skip
    shown = client.post(reverse("adopt"), {"way": "rows", **rows}).content.decode()
    assert "Will be assigned to Northwind Web" in shown
    confirm(client, shown)
    assert list(Volume.objects.filter(customer=north)) == [mine.volume]


def test_a_row_without_a_customer_that_there_is_adopts_nothing(client: Client) -> None:
    there = found()
    rows = {"form-TOTAL_FORMS": "1", "form-INITIAL_FORMS": "1", "form-0-volume": there.lv.uuid}
    for name, says in (("", "Enter a customer"), ("unknown", "There is no customer")):
        answer = client.post(reverse("adopt"), {"way": "rows", **rows, "form-0-customer": name})
        assert answer.status_code == 422 and says in answer.content.decode()


def test_what_is_unticked_on_the_preview_is_not_adopted(client: Client) -> None:
    for name in ("web1", "web2"):
        found(name)
    page = preview(client, new_customer="Acme")
    assert "Adopt the selected volumes" in page
    sealed = page.split('name="sealed" value="')[1].split('"')[0]
    client.post(reverse("adopt-confirm"), {"sealed": sealed, "take": ["2"]})
    assert Volume.objects.filter(adopted_at__isnull=False).count() == 1
