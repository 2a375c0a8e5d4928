"""The page that orders a benchmark."""

from __future__ import annotations

from datetime import time
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from storage.benchmarks.matrix import CacheState, TargetKind
from storage.byte_sizes import GIB
from storage.models import Benchmark, Host, Volume
from tests.heat_scene import COUNTING, count_heat
from tests.one_line import on_one_line
from tests.scene import Scene

pytestmark = pytest.mark.django_db


def asked(there: Scene, **changes: Any) -> dict[str, Any]:
    return {
        "group": f"{there.host.key}/{there.facts.vgs[0].uuid}",
        "title": "Evening",
        "targets": ["hdd", "lvmcache", "bcache"],
        "states": ["new"],
        "profiles": ["zipf_read"],
        "data_gib": "1, 2",
        "cache_gib": "0.5",
        "minutes": "2",
        "warm_minutes": "1",
        "repeats": "3",
        "jobs": "2",
        "iodepth": "8",
        **changes,
    }


def post(client: Client, data: dict[str, Any], status: int = 200) -> str:
    response = client.post(reverse("benchmark-new"), data)
    assert response.status_code == status
    return on_one_line(response.content.decode())


def test_the_form_begins_with_the_published_evening_and_what_it_takes(
    staff: Client, there: Scene
) -> None:
    text = on_one_line(staff.get(reverse("benchmark-new")).content.decode())
    assert '<dt>Runs</dt><dd class="num">15</dd>' in text
    assert "about" in text and "Written to SSD" in text
    assert "bcache, cutoff 4\xa0MiB" in text


def test_a_preview_says_what_it_takes_and_orders_nothing(staff: Client, there: Scene) -> None:
    text = post(staff, asked(there, preview="1"))
    assert '<dt>Runs</dt><dd class="num">18</dd>' in text
    assert "lvmcache writethrough 512\xa0MiB, new, zipf_read, 1\xa0GiB" in text
    assert not Benchmark.objects.exists()


def test_an_order_has_the_matrix_that_was_chosen(staff: Client, there: Scene) -> None:
    data = asked(there, states=["new", "junk"], start="02:00", end="05:00", zone="Europe/Berlin")
    response = staff.post(reverse("benchmark-new"), data)
    made = Benchmark.objects.get()
    assert response["Location"] == reverse("benchmark", args=[made.key])
    spec = made.matrix
    assert [each.target for each in spec.targets] == [
        TargetKind.HDD,
        TargetKind.LVMCACHE,
        TargetKind.BCACHE,
    ]
    assert spec.targets[2].sequential_cutoff_kib == 4096
    assert (spec.data_bytes, spec.cache_bytes) == ((GIB, 2 * GIB), (GIB // 2,))
    assert spec.states == (CacheState.NEW, CacheState.JUNK)
    assert (spec.seconds, spec.repeats) == (120, 3)
    assert made.window is not None and made.window.start == time(2)
    assert made.title == "Evening"


def test_what_the_host_cannot_do_is_said_with_what_to_do(staff: Client, there: Scene) -> None:
    Host.objects.update(hello={"policy": {"vgs": ["vg0"]}, "benchmarks": {"quota_bytes": 0}})
    text = post(staff, asked(there, preview="1"))
    assert "has not allowed benchmarks" in text and "allow-benchmarks" in text
    post(staff, asked(there), status=422)
    assert not Benchmark.objects.exists()


def test_a_run_that_does_not_fit_is_refused(staff: Client, there: Scene) -> None:
    text = post(staff, asked(there, data_gib="100", preview="1"))
    assert "allows" in text and "64\xa0GiB" in text
    post(staff, asked(there, data_gib="100"), status=422)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("data_gib", "four", "is not a size"),
        ("data_gib", ",".join("123456789"), ""),
        ("start", "02:00", "Enter both times"),
        ("job_file", "[a]\nrw=read\nfilename=/dev/sda\nexec_prerun=x", "Line 4"),
        ("repeats", "31", "less than or equal to 30"),
        ("targets", [], "This field is required"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(
    staff: Client, there: Scene, field: str, value: Any, message: str
) -> None:
    text = post(staff, asked(there, preview="1", **{field: value}))
    assert message in text


def test_without_a_group_that_may_be_used_the_page_says_what_root_does(staff: Client) -> None:
    text = on_one_line(staff.get(reverse("benchmark-new")).content.decode())
    assert "agent.pyz allow-vg" in text


@pytest.fixture
def heated(there: Scene) -> Volume:
    """Of a host that counts heat."""
    Host.objects.update(hello=there.host.hello | COUNTING)
    return there.volume


def test_the_heat_of_a_volume_is_replayed(staff: Client, there: Scene, heated: Volume) -> None:
    volume = heated
    count_heat(volume, 12, timezone.now())
    address = f"{reverse('benchmark-new')}?host={there.host.key}&heat_of={volume.key}"
    form = staff.get(address).content.decode()
    assert volume.key in form and "hit rate within" in form and "no phases of day" in form
    post_of = asked(there, profiles=["heat"], heat_of=volume.key)
    staff.post(reverse("benchmark-new"), post_of)
    (profile,) = Benchmark.objects.get().matrix.profiles
    assert profile.heat is not None and profile.block_bytes == profile.heat.block_bytes


@pytest.mark.parametrize(
    ("hours", "key", "message"),
    [
        (12, "nothing", "No volume that you may see"),
        (2, "", "counted so far of"),
        (0, "", "counted so far of"),
    ],
)
def test_heat_that_is_not_there_is_not_replayed(
    staff: Client, there: Scene, heated: Volume, hours: int, key: str, message: str
) -> None:
    if hours:
        count_heat(heated, hours, timezone.now())
    named = key or heated.key
    text = post(staff, asked(there, profiles=["heat"], heat_of=named, preview="1"))
    assert message in text
