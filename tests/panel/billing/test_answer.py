"""What a billing system answers."""

from __future__ import annotations

import json

import pytest

from panel.billing.answer import MAX_REASON, BadAnswer, Decision, decision_of, plain_reason


@pytest.mark.parametrize("word", ["approve", "refuse", "pending"])
def test_a_decision_is_read(word: str) -> None:
    assert decision_of(json.dumps({"decision": word}).encode()).word == word


def test_a_refusal_brings_its_reason() -> None:
    body = b'{"decision": "refuse", "reason": "Your card was declined.", "more": 1}'
    assert decision_of(body) == Decision("refuse", "Your card was declined.")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"ok",
        b"[]",
        b"null",
        b"\xff",
        b'{"decision": "yes"}',
        b"{}",
        b'{"decision": null}',
        b'{"decision": ["approve"]}',
        b'{"decision":"refuse","reason":1}',
    ],
)
def test_what_cannot_be_understood_decides_nothing(body: bytes) -> None:
    with pytest.raises(BadAnswer):
        decision_of(body)


def test_a_reason_is_one_short_line_of_plain_text() -> None:
    assert plain_reason("Card\n declined\u202e\x00.") == "Card declined."
    assert plain_reason("x" * 1000) == "x" * (MAX_REASON - 1) + "…"
