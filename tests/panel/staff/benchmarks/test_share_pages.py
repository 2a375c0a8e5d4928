"""The page that strangers see by a link."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from panel.benchmarks.share_links import share
from storage.models import Benchmark
from tests import make
from tests.benchmark_scene import EVENING, make_benchmark
from tests.proven import sign_in
from tests.scene import Scene

pytestmark = pytest.mark.django_db
PAGES = (
    "benchmark-shared",
    "benchmark-shared-series",
    "benchmark-shared-csv",
    "benchmark-shared-json",
)


@pytest.fixture
def shared(there: Scene) -> Benchmark:
    made = make_benchmark(there.host, EVENING, timezone.now(), title="For Acme Ltd")
    share(made)
    return made


def test_a_stranger_sees_figures_and_charts_and_no_names(shared: Benchmark, there: Scene) -> None:
    for name in PAGES:
        response = Client().get(reverse(name, args=[shared.share_key]))
        assert response.status_code == 200
        assert response["X-Robots-Tag"] == "noindex, nofollow"
        text = response.content.decode()
        for secret in ("Acme", there.host.name, there.host.key, shared.key, "vg0"):
            assert secret not in text, (name, secret)
    page = Client().get(reverse("benchmark-shared", args=[shared.share_key])).content.decode()
    assert "lvmcache won" in page and 'content="noindex' in page


def test_a_link_that_ended_shows_nothing(shared: Benchmark) -> None:
    Benchmark.objects.update(share_until=timezone.now())
    for name in PAGES:
        assert Client().get(reverse(name, args=[shared.share_key])).status_code == 404
        assert Client().get(reverse(name, args=["guessed"])).status_code == 404


def test_staff_make_a_link_and_end_it(there: Scene) -> None:
    made = make_benchmark(there.host, EVENING, timezone.now())
    staff = sign_in(Client(), make.staff_user())
    staff.post(reverse("benchmark-share", args=[made.key]), {"days": "7"})
    made.refresh_from_db()
    text = staff.get(reverse("benchmark", args=[made.key])).content.decode()
    assert made.share_key and made.share_key in text
    old = made.share_key
    staff.post(reverse("benchmark-unshare", args=[made.key]))
    assert Client().get(reverse("benchmark-shared", args=[old])).status_code == 404


def test_a_link_that_opens_something_to_strangers_needs_a_fresh_proof(
    staff: Client, there: Scene
) -> None:
    made = make_benchmark(there.host, EVENING, timezone.now())
    staff.post(reverse("benchmark-share", args=[made.key]), {"days": "7"})
    made.refresh_from_db()
    assert made.share_key == ""
