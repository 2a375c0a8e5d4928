"""Signatures by Standard Webhooks."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from panel.deliveries.signature import BadSignature, is_secret, sign, verify

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_" + base64.b64encode(b"o" * 32).decode()
NAME = "msg_p5jXN8AQM9LWM0D4loKWxJek"
BODY = b'{"test": 2432232314}'
NOW = datetime(2026, 11, 21, 22, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def at_ten() -> Iterator[None]:
    with time_machine.travel(NOW, tick=False):
        yield


def test_the_published_vector_comes_out() -> None:
    headers = sign(NAME, BODY, [SECRET], datetime.fromtimestamp(1614265330, UTC))
    assert headers == {
        "webhook-id": NAME,
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_a_local_time_signs_as_the_same_moment_in_utc() -> None:
    local = NOW.astimezone(datetime.now().astimezone().tzinfo)
    assert sign(NAME, BODY, [SECRET], local) == sign(NAME, BODY, [SECRET], NOW)


def test_what_was_signed_is_recognised() -> None:
    assert verify(sign(NAME, BODY, [SECRET], NOW), BODY, [SECRET]) == NAME


@pytest.mark.parametrize(
    ("signing", "knowing"),
    [
        ([SECRET, OTHER], [SECRET]),
        ([SECRET, OTHER], [OTHER]),
        ([SECRET], [OTHER, SECRET]),
        ([OTHER], [OTHER, SECRET]),
    ],
)
def test_while_a_secret_is_changed_both_are_good(signing: list[str], knowing: list[str]) -> None:
    assert verify(sign(NAME, BODY, signing, NOW), BODY, knowing) == NAME


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-id": "msg_other"},
        {"webhook-id": ""},
        {"webhook-id": "msg.with.stops"},
        {"webhook-id": "x" * 101},
        {"webhook-timestamp": str(int(NOW.timestamp()) + 1)},
        {"webhook-timestamp": "now"},
        {"webhook-timestamp": ""},
        {"webhook-signature": ""},
        {"webhook-signature": "nonsense"},
        {"webhook-signature": "v1,not base64"},
        {"webhook-signature": "v1,a,b"},
        {"webhook-signature": "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
    ],
)
def test_a_changed_header_is_found(change: dict[str, str]) -> None:
    headers = {**sign(NAME, BODY, [SECRET], NOW), **change}
    with pytest.raises(BadSignature):
        verify(headers, BODY, [SECRET])


@pytest.mark.parametrize("body", [BODY + b" ", b"", b"\xff\xfe"])
def test_a_changed_body_is_found(body: bytes) -> None:
    with pytest.raises(BadSignature):
        verify(sign(NAME, BODY, [SECRET], NOW), body, [SECRET])


@pytest.mark.parametrize("secrets", [[], [OTHER], ["whsec_"], ["whsec_!"]])
def test_without_the_secret_nothing_is_good(secrets: list[str]) -> None:
    with pytest.raises(BadSignature):
        verify(sign(NAME, BODY, [SECRET], NOW), BODY, secrets)


@pytest.mark.parametrize(
    ("seconds", "is_good"), [(299, True), (301, False), (-299, True), (-301, False)]
)
def test_five_minutes_are_the_limit(seconds: int, is_good: bool) -> None:
    headers = sign(NAME, BODY, [SECRET], NOW + timedelta(seconds=seconds))
    if is_good:
        assert verify(headers, BODY, [SECRET]) == NAME
    else:
        with pytest.raises(BadSignature):
            verify(headers, BODY, [SECRET])


@pytest.mark.parametrize(
    ("text", "is_good"),
    [(SECRET, True), (OTHER, True), ("whsec_", False), ("whsec_YQ==", False), ("abc", False)],
)
def test_a_short_secret_is_none(text: str, is_good: bool) -> None:
    assert is_secret(text) is is_good
