"""`?wait=`: so many wait, and never all threads; the others are answered at once."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from panel.api.framework.rate_limits import ConcurrencyLimit
from panel.api.jobs import wait_for_job
from panel.configuration.gunicorn import threads
from tests import make
from tests.panel.api.asking import Program, member, own, staff
from tests.scene import Scene, end, job, scene

pytestmark = pytest.mark.django_db
MOST, MOST_OF_ONE = wait_for_job.PLACES.most, wait_for_job.PLACES.most_of_one


@pytest.fixture(autouse=True)
def places(monkeypatch: pytest.MonkeyPatch) -> ConcurrencyLimit:
    made = ConcurrencyLimit(most=MOST, most_of_one=MOST_OF_ONE)
    monkeypatch.setattr(wait_for_job, "PLACES", made)
    return made


@pytest.fixture
def full(places: ConcurrencyLimit) -> Iterator[None]:
    """Everybody else waits already."""
    with ExitStack() as taken:
        for n in range(MOST):
            assert taken.enter_context(places.one(f"other {n}"))
        yield


def timed(asking: Program, path: str, method: str = "get", body: Any = None) -> tuple[float, Any]:
    began = time.monotonic()
    key = {"Idempotency-Key": uuid.uuid4().hex}
    answer = asking.get(path) if method == "get" else asking.send(method, path, body, **key)
    return time.monotonic() - began, answer


def test_a_third_of_the_threads_wait_at_most_and_two_of_one_token(places: ConcurrencyLimit) -> None:
    assert threads >= 2 * MOST
    with ExitStack() as taken:
        ours = [taken.enter_context(places.one("a")) for _ in range(MOST_OF_ONE + 1)]
        assert ours == [True] * MOST_OF_ONE + [False]
        others = [taken.enter_context(places.one(f"{n}")) for n in range(MOST)]
        assert sum(ours) + sum(others) == MOST
    with places.one("a") as has_place:
        assert has_place


def test_a_place_is_free_again_after_an_error(places: ConcurrencyLimit) -> None:
    for _ in range(2 * MOST):
        with pytest.raises(ValueError, match="no"), places.one("a") as has_place:
            assert has_place
            raise ValueError("no")


@pytest.mark.usefixtures("full")
def test_without_a_place_to_wait_the_answer_comes_at_once_and_says_when_to_retry() -> None:
    running = job(there := scene(), origin="portal")
    owner = member(customer := make.customer())
    own(there, customer)
    for asking in (staff(), owner):
        took, answer = timed(asking, f"/jobs/{running.key}?wait=30")
        assert (answer.status_code, answer.json()["state"]) == (200, "queued")
        assert took < 20 and answer["Retry-After"] == "5"


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("put", "/volumes/{volume}/wish", {"cache": {"size_bytes": 2**30}}),
        ("put", "/volumes/{volume}/wish?dry_run=true", {"cache": {"size_bytes": 2**30}}),
        ("post", "/jobs/{preview}/apply", None),
    ],
)
def test_so_is_a_request_for_work(method: str, path: str, body: Any) -> None:
    there: Scene = scene()
    end(preview := job(there, dry_run=True), "succeeded")
    at = path.format(volume=there.volume.key, preview=preview.key)
    took, answer = timed(staff(), f"{at}{'&' if '?' in at else '?'}wait=30", method, body)
    assert (answer.status_code, answer["Retry-After"]) == (202, "5")
    assert took < 20 and answer["Location"]


def test_a_caller_with_a_place_waits(places: ConcurrencyLimit) -> None:
    running, asking = job(scene()), staff()
    took, answer = timed(asking, f"/jobs/{running.key}?wait=1")
    assert took >= 1 and "Retry-After" not in answer
    name = f"person {asking.user.pk}"
    with places.one(name), places.one(name):
        took, answer = timed(asking, f"/jobs/{running.key}?wait=30")
        assert took < 20 and answer["Retry-After"] == "5"
        took, answer = timed(staff(), f"/jobs/{running.key}?wait=1")
        assert took >= 1 and "Retry-After" not in answer


@pytest.mark.usefixtures("full")
def test_what_is_over_needs_no_place() -> None:
    end(done := job(scene()), "succeeded")
    _, answer = timed(staff(), f"/jobs/{done.key}?wait=30")
    assert answer.status_code == 200 and "Retry-After" not in answer
