"""Who asks too much has to wait; no one else does, and Redis decides nothing by itself."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event
from typing import Any

import pytest
import redis
from django.test import Client, RequestFactory
from pytest_django import Settings

from panel.accounts.authentication import throttle
from panel.accounts.client_address import network_of
from panel.api.framework import rate_limits
from panel.api.framework.rate_limits import (
    PREFIX,
    ConcurrencyLimit,
    Limits,
    LocalBuckets,
    TokenBucket,
    buckets_of,
)
from panel.api.jobs import wait_for_job
from panel.configuration import redis_client
from panel.configuration.gunicorn import threads
from tests import make
from tests.panel.api.asking import V1, Program, problem, staff

pytestmark = pytest.mark.django_db
# So slow that a test does not see a bucket fill.
RATE, BURST_SECONDS = 0.1, 100
MOST = 10


@pytest.fixture(autouse=True)
def rates(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.TIERCEL_API_TOKEN_RATE, settings.TIERCEL_API_ADDRESS_RATE = RATE, 3 * RATE
    monkeypatch.setattr(rate_limits, "LIMITS", Limits())
    monkeypatch.setattr(rate_limits, "BURST_SECONDS", BURST_SECONDS)


@pytest.fixture
def address() -> str:
    """One that no other test has."""
    return ".".join(["10", *(str(random.randrange(256)) for _ in range(3))])


@pytest.fixture
def no_redis(settings: Settings) -> Iterator[None]:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    rate_limits._script.cache_clear()
    yield
    rate_limits._script.cache_clear()


def get(asking: Program | None, address: str, path: str = "/", **more: Any) -> Any:
    headers = asking.headers() if asking is not None else {}
    return Client(REMOTE_ADDR=address).get(V1 + path, more, headers=headers)


def statuses(asking: Program | None, address: str, count: int) -> list[int]:
    return [get(asking, address).status_code for _ in range(count)]


def test_every_answer_tells_how_much_is_left(address: str) -> None:
    asking = staff()
    left = [int(get(asking, address)["RateLimit-Remaining"]) for _ in range(3)]
    assert left == [MOST - 1, MOST - 2, MOST - 3]
    answer = get(asking, address)
    assert answer["RateLimit-Limit"] == str(MOST)
    assert answer["RateLimit-Policy"] == f'"token";q={MOST};w={BURST_SECONDS}'
    assert answer["RateLimit"].startswith(f'"token";r={answer["RateLimit-Remaining"]};t=')
    assert 1 <= int(answer["RateLimit-Reset"]) <= BURST_SECONDS
    assert "Retry-After" not in answer


def test_a_token_that_asks_too_much_waits_and_others_do_not(address: str) -> None:
    asking = staff()
    answers = statuses(asking, address, MOST + 5)
    assert answers[:MOST] == [200] * MOST and 429 in answers
    refused = get(asking, address)
    problem(refused, 429, "too_many_requests")
    assert 1 <= int(refused["Retry-After"]) <= 1 / RATE
    assert refused["RateLimit-Remaining"] == "0"
    assert refused["Cache-Control"] == "private, no-store"
    assert get(staff(), address).status_code == 200


def test_the_same_token_written_otherwise_is_the_same(address: str) -> None:
    asking = staff()
    statuses(asking, address, MOST)
    for scheme in ("bearer", "BEARER", "Bearer  "):
        headers = {"Authorization": f"{scheme} {asking.text}"}
        answer = Client(REMOTE_ADDR=address).get(f"{V1}/", headers=headers)
        assert answer.status_code == 429


def test_wrong_tokens_empty_the_bucket_of_their_address_and_of_no_token(address: str) -> None:
    asking = staff()
    key = asking.text.partition(".")[0]
    guesses = [Program(asking.user, f"{key}.{n:043d}") for n in range(3 * MOST)]
    answers = [get(guess, address).status_code for guess in guesses]
    assert set(answers) == {401}
    assert 429 in statuses(None, address, 8)
    assert get(asking, address.replace("10.", "11.", 1)).status_code == 200


def test_a_session_has_a_bucket_too(client: Client, address: str) -> None:
    client.force_login(make.staff_user())
    answers = [client.get(f"{V1}/", REMOTE_ADDR=address).status_code for _ in range(MOST + 5)]
    assert set(answers) == {200, 429}


def test_pages_and_the_health_check_have_no_such_limit(client: Client, address: str) -> None:
    for _ in range(3 * MOST):
        get(None, address)
    assert get(None, address).status_code == 429
    assert client.get("/health", REMOTE_ADDR=address).status_code == 200


@pytest.mark.parametrize(("query", "cost"), [({"limit": "200"}, 4), ({"limit": "51"}, 2)])
def test_a_long_list_counts_as_several_requests(
    address: str, query: dict[str, str], cost: int
) -> None:
    answer = get(staff(), address, "/jobs/", **query)
    assert int(answer["RateLimit-Remaining"]) == MOST - cost


@pytest.mark.parametrize(
    ("query", "cost"),
    [
        ("limit=200", 4),
        ("limit=00200", 1),
        ("points=2000", 4),
        ("points=002000", 1),
        ("limit=99999999999", 1),
    ],
)
def test_what_costs_one_request_is_refused_or_cheap(query: str, cost: int) -> None:
    request = RequestFactory().get(f"{V1}/volumes/?{query}")
    assert rate_limits.cost_of(request) == cost


def test_processes_share_a_bucket(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asking = staff()
    statuses(asking, address, MOST)
    monkeypatch.setattr(rate_limits, "LIMITS", Limits())  # another process
    assert get(asking, address).status_code == 429


@pytest.mark.usefixtures("no_redis")
def test_without_redis_each_process_keeps_its_own(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = staff()
    assert set(statuses(asking, address, MOST)) == {200}
    assert 429 in statuses(asking, address, 5)
    monkeypatch.setattr(rate_limits, "LIMITS", Limits())
    assert get(asking, address).status_code == 200


@pytest.mark.parametrize("forged", ["9" * 18, "-1", "nan", "inf", "x", "", "1e400"])
def test_forged_data_in_redis_locks_no_one_out_for_longer_than_a_bucket_takes_to_fill(
    address: str, forged: str
) -> None:
    asking = staff()
    with redis_client.client() as client:
        client.set(f"{PREFIX}address:{address}", forged, ex=60)
        answer = get(asking, address)
        if answer.status_code == 429:
            assert int(answer["Retry-After"]) <= BURST_SECONDS
        client.delete(f"{PREFIX}address:{address}")
        client.lpush(f"{PREFIX}address:{address}", forged)  # no text at all
        client.expire(f"{PREFIX}address:{address}", 60)
    assert get(staff(), address).status_code == 200
    assert 429 in statuses(asking, address, MOST + 5)


def test_one_token_does_not_take_all_that_is_at_work_at_once(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limits, "AT_ONCE", ConcurrencyLimit(most=9, most_of_one=3))
    asking, other = staff(), staff()
    name = buckets_of(RequestFactory().get(f"{V1}/", headers=asking.headers()))[-1].name
    with ExitStack() as working:
        for _ in range(3):
            assert working.enter_context(rate_limits.AT_ONCE.one(name))
        refused = get(asking, address)
        problem(refused, 429, "too_many_requests")
        assert refused["Retry-After"] == "1"
        assert get(other, address).status_code == 200
    assert get(asking, address).status_code == 200


def test_some_threads_are_never_the_apis_and_some_of_its_own_are_left_to_others() -> None:
    sign_ins = rate_limits.SIGN_INS_AT_ONCE
    assert rate_limits.AT_ONCE.most + sign_ins.most <= threads - 2
    assert rate_limits.AT_ONCE.most_waiting == 0 and sign_ins.most_waiting <= threads - 2
    waiting_and_one_token = wait_for_job.PLACES.most + rate_limits.AT_ONCE.most_of_one
    assert waiting_and_one_token <= rate_limits.AT_ONCE.most - 2


def test_a_path_in_front_of_the_panels_own_lifts_no_limit(address: str) -> None:
    client, headers = Client(REMOTE_ADDR=address, SCRIPT_NAME="/x"), staff().headers()
    answers = [client.get(f"{V1}/", headers=headers).status_code for _ in range(MOST + 3)]
    assert (answers[0], answers[-1]) == (200, 429)


def test_who_sends_many_sign_ins_is_refused_before_a_password_is_tried(
    address: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.TIERCEL_SIGN_INS_A_MINUTE = 60 * RATE
    monkeypatch.setattr(rate_limits, "SIGN_IN_BURST_SECONDS", BURST_SECONDS)
    tried: list[object] = []
    monkeypatch.setattr(throttle, "count_try", lambda *args: tried.append(args))
    client, form = Client(REMOTE_ADDR=address), {"login": "ann@example.org", "password": "x"}
    answers = [client.post("/account/login/", form) for _ in range(MOST + 3)]
    assert len(tried) <= MOST + 1
    assert (answers[-1].status_code, answers[0].status_code) == (429, 200)
    assert int(answers[-1]["Retry-After"]) >= 1
    assert client.get("/account/login/").status_code == 200


@pytest.mark.parametrize("path", ["/enrol/x", "/enter/x", "/invitation/x", "/notices/off/x"])
def test_what_a_one_time_link_opens_is_limited_by_address(address: str, path: str) -> None:
    client = Client(REMOTE_ADDR=address)
    statuses = [client.get(path).status_code for _ in range(3 * MOST + 1)]
    assert 429 not in statuses[: 3 * MOST] and statuses[-1] == 429


def test_who_finds_no_place_waits_for_one_and_each_name_once() -> None:
    places = ConcurrencyLimit(most=1, most_of_one=1, most_waiting=2)
    has_begun, may_end = Event(), Event()

    def work(name: str) -> bool:
        with places.one(name) as has_place:
            has_begun.set()
            return has_place and may_end.wait(60)

    with ThreadPoolExecutor() as threads_of_test:
        first = threads_of_test.submit(work, "a")
        assert has_begun.wait(60)
        second = threads_of_test.submit(work, "b")
        while not places._waiting:
            time.sleep(0.001)
        with places.one("b") as has_place:
            assert not has_place
        may_end.set()
        assert first.result(60) and second.result(60)


def test_a_bucket_fills_at_its_rate() -> None:
    clock = [100.0]
    buckets, bucket = LocalBuckets(lambda: clock[0]), TokenBucket("a", RATE, BURST_SECONDS)
    taken = 0
    for _ in range(6000):  # ten minutes of ten requests a second
        taken += max(buckets.take([bucket], 1)) <= BURST_SECONDS
        clock[0] += 0.1
    assert taken == pytest.approx(MOST + 600 * RATE, abs=1)


def test_what_is_refused_by_one_bucket_is_taken_from_none() -> None:
    buckets, small, large = (
        LocalBuckets(lambda: 1.0),
        TokenBucket("small", 1, 10),
        TokenBucket("large", 5, 100),
    )
    for _ in range(200):
        buckets.take([small, large], 1)
    assert buckets.take([large], 1) == [pytest.approx((10 + 1) / 5)]


def test_a_process_remembers_no_more_than_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "MOST_BUCKETS", 100)
    clock = [1.0]
    buckets = LocalBuckets(lambda: clock[0])
    for n in range(1000):
        buckets.take([TokenBucket(f"{n}", 1, 10)], 1)
    assert len(buckets._full_at) <= 101
    assert "999" in buckets._full_at


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        (None, "none"),
    ],
)
def test_an_ipv6_network_counts_as_one(address: str | None, network: str) -> None:
    assert network_of(address) == network


def test_redis_keeps_a_count_for_no_longer_than_needed(address: str) -> None:
    get(staff(), address)
    client: redis.Redis = redis_client.client()
    with client:
        [kept] = client.keys(f"{PREFIX}address:{address}")
        assert 0 < client.pttl(kept) <= BURST_SECONDS * 1000  # type: ignore[operator]
