"""Removing a host, discarding an enrolment and correcting an address, on pages and by API."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.hosts import enrolment
from storage.models import CachePlan, Host, Volume
from storage.models.host import HostState
from tests import make
from tests.panel.api.asking import staff
from tests.proven import sign_in
from tests.scene import Scene, end, job, scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client: Client) -> Client:
    return sign_in(client, make.staff_user())


def scrapped() -> Scene:
    there = scene(host={"last_seen_at": timezone.now() - timedelta(days=3)})
    Volume.objects.update(customer=make.customer("Acme Ltd"))
    return there


def preview(client: Client, host: Host) -> tuple[str, str]:
    """The page, and the digest in its form."""
    text = client.get(reverse("host-remove", args=[host.key])).content.decode()
    return text, text.split('name="shown" value="')[1].split('"')[0]


def test_a_scrapped_host_is_removed_after_a_preview_and_its_name(admin: Client) -> None:
    there = scrapped()
    end(job(there))
    url = reverse("host-remove", args=[there.host.key])
    assert url in admin.get(reverse("host", args=[there.host.key])).content.decode()
    text, shown = preview(admin, there.host)
    for words in ("Acme Ltd", "1 volume", "audit trail", "Kept", "Forgotten"):
        assert words in text.replace('<span class="num">1</span>', "1"), words
    assert admin.post(url, {"shown": shown, "confirm_name": "other"}).status_code == 422
    assert Host.objects.get().state == HostState.ACTIVE
    response = admin.post(url, {"shown": shown, "confirm_name": there.host.name}, follow=True)
    assert f"{there.host.name} was removed." in response.content.decode()
    assert "Silent" not in admin.get(reverse("home")).content.decode()


def test_the_pages_of_a_removed_host_say_when_and_keep_its_jobs(admin: Client) -> None:
    there = scrapped()
    done = job(there)
    end(done)
    _, shown = preview(admin, there.host)
    data = {"shown": shown, "confirm_name": there.host.name}
    admin.post(reverse("host-remove", args=[there.host.key]), data)
    text = admin.get(reverse("host", args=[there.host.key])).content.decode()
    assert "Removed on" in text
    assert "state: active" in text  # its history, with who did it
    assert admin.get(reverse("host-settings", args=[there.host.key])).status_code == 404
    assert admin.get(reverse("job", args=[done.key])).status_code == 200
    assert admin.get(reverse("volume", args=[there.volume.key])).status_code == 200
    listed = admin.get(reverse("jobs"), {"host": there.host.key}).content.decode()
    assert done.key in listed


def test_a_host_that_must_stay_says_why_and_leads_there(admin: Client) -> None:
    there = scrapped()
    job(there)
    url = reverse("host-remove", args=[there.host.key])
    text = admin.get(url).content.decode()
    assert "1 job has not ended" in text
    assert reverse("host-jobs", args=[there.host.key]) in text
    data = {"shown": "x", "confirm_name": there.host.name}
    assert admin.post(url, data).status_code == 422
    assert Host.objects.get().state == HostState.ACTIVE


def test_what_changed_since_the_preview_is_shown_again(admin: Client) -> None:
    there = scrapped()
    _, shown = preview(admin, there.host)
    make.placement(make.volume(), there.host, lv_uuid=make.lvm_uuid())
    url = reverse("host-remove", args=[there.host.key])
    response = admin.post(url, {"shown": shown, "confirm_name": there.host.name})
    assert response.status_code == 422
    assert "changed since the preview" in response.content.decode()
    assert Host.objects.get().state == HostState.ACTIVE


def test_an_enrolment_that_never_came_is_discarded_with_one_click(admin: Client) -> None:
    host, _ = enrolment.begin_enrolment("mistyped", "192.0.2.7")
    enrol = admin.get(reverse("host-enrol", args=[host.key])).content.decode()
    assert reverse("host-remove", args=[host.key]) in enrol
    text, shown = preview(admin, host)
    assert "confirm_name" not in text
    admin.post(reverse("host-remove", args=[host.key]), {"shown": shown})
    assert "mistyped" not in admin.get(reverse("hosts")).content.decode().split("was removed")[-1]
    assert enrolment.begin_enrolment("mistyped", "192.0.2.8")[0].pk != host.pk


def test_an_address_is_corrected_and_the_key_stays(admin: Client) -> None:
    there = scrapped()
    url = reverse("host-address", args=[there.host.key])
    admin.post(url, {"address": "198.51.100.77", "port": "2222"})
    host = Host.objects.get()
    assert (host.address, host.port) == ("198.51.100.77", 2222)
    assert (host.host_key, host.state) == (there.host.host_key, HostState.ACTIVE)
    response = admin.post(url, {"address": "no address; rm", "port": "22"}, follow=True)
    assert "neither a host name nor an IP address" in response.content.decode()
    assert Host.objects.get().address == "198.51.100.77"


def test_a_program_removes_a_host_only_if_it_says_what_becomes_of_the_volumes() -> None:
    there, program = scrapped(), staff()
    path = f"/hosts/{there.host.key}"
    response = program.send("delete", path)
    assert (response.status_code, response.json()["code"]) == (409, "in_use")
    assert program.send("delete", f"{path}?forget_volumes=true").status_code == 204
    assert program.send("delete", path).status_code == 404
    assert program.get("/hosts/").json()["items"] == []


def test_a_plan_of_a_removed_host_is_edited_without_being_sold_everywhere(admin: Client) -> None:
    there = scrapped()
    plan = CachePlan.objects.create(name="S", size_bytes=2**30, price_minor=490, currency="EUR")
    plan.hosts.add(there.host)
    text, shown = preview(admin, there.host)
    assert "the only host that offers the plan" in text
    data = {"shown": shown, "confirm_name": there.host.name}
    admin.post(reverse("host-remove", args=[there.host.key]), data)
    form = admin.get(reverse("cache-plan", args=[plan.key])).content.decode()
    assert there.host.name in form.split('name="hosts"')[1].split("</form>")[0]
