"""What would come of each row, before anything is stored."""

from __future__ import annotations

import pytest

from storage.adoption import (
    AdoptionQuestion,
    AdoptionVerdict,
    Buyer,
    Candidate,
    Judgement,
    judge_rows,
)
from tests.storage.adoption.test_ask import candidate

ACME = Buyer("acme-key", "Acme", "c-1")


def judged(
    ask: AdoptionQuestion,
    *there: Candidate,
    buyers: tuple[Buyer, ...] = (ACME,),
    make_customers: bool = False,
) -> Judgement:
    (found,) = judge_rows([ask], there, buyers, frozenset({"taken"}), make_customers=make_customers)
    return found


@pytest.mark.parametrize("name", ["vg0/web12", "node1:vg0/web12", "uuid-web12"])
def test_a_volume_is_named_in_three_ways(name: str) -> None:
    found = judged(AdoptionQuestion(2, name, "Acme", "7"), candidate())
    assert found.is_good
    assert (found.customer_key, found.customer_name) == ("acme-key", "Acme")


@pytest.mark.parametrize("name", ["Acme", "c-1", "acme-key"])
def test_a_customer_is_named_in_three_ways(name: str) -> None:
    assert judged(AdoptionQuestion(2, "vg0/web12", name), candidate()).customer_key == "acme-key"


@pytest.mark.parametrize(
    ("ask", "fields", "verdict", "words"),
    [
        (AdoptionQuestion(2, "vg0/web13", "Acme"), {}, AdoptionVerdict.UNKNOWN, "No host has"),
        (
            AdoptionQuestion(2, "vg0/web12", "Acme"),
            {"is_missing": True},
            AdoptionVerdict.UNKNOWN,
            "missing from the last inventory",
        ),
        (
            AdoptionQuestion(2, "vg0/web12", "Acme"),
            {"owner": "Other"},
            AdoptionVerdict.ALREADY,
            "assigned to Other",
        ),
        (
            AdoptionQuestion(2, "vg0/web12", "Acme"),
            {"is_adopted": True},
            AdoptionVerdict.ALREADY,
            "Already assigned.",
        ),
        (
            AdoptionQuestion(2, "vg0/web12", "Acme", "taken"),
            {},
            AdoptionVerdict.ID_TAKEN,
            "has the external id taken",
        ),
        (
            AdoptionQuestion(2, "vg0/web12", "Unknown"),
            {},
            AdoptionVerdict.CUSTOMER_UNKNOWN,
            "no customer Unknown",
        ),
        (
            AdoptionQuestion(2, "vg0/web12", ""),
            {},
            AdoptionVerdict.CUSTOMER_UNKNOWN,
            "The customer is missing",
        ),
        (
            AdoptionQuestion(2, "vg0/web12", "Acme", by_pattern=True),
            {"host_use": "mounted at /"},
            AdoptionVerdict.HOSTS_OWN,
            "mounted at /",
        ),
    ],
)
def test_each_refusal_has_its_reason(
    ask: AdoptionQuestion, fields: dict[str, object], verdict: AdoptionVerdict, words: str
) -> None:
    found = judged(ask, candidate(**fields))
    assert (found.verdict, found.is_good) == (verdict, False)
    assert words in found.message


def test_a_name_on_two_hosts_is_ambiguous_and_both_places_are_named() -> None:
    found = judged(
        AdoptionQuestion(2, "vg0/web12", "Acme"), candidate(), candidate(host_name="node2", key="2")
    )
    assert found.verdict == AdoptionVerdict.AMBIGUOUS
    assert "node1:vg0/web12, node2:vg0/web12" in found.message


def test_two_customers_of_one_name_are_ambiguous() -> None:
    twins = (ACME, Buyer("other-key", "Acme", "c-2"))
    assert judged(AdoptionQuestion(2, "vg0/web12", "Acme"), candidate(), buyers=twins).verdict == (
        AdoptionVerdict.AMBIGUOUS
    )
    assert (
        judged(AdoptionQuestion(2, "vg0/web12", "c-2"), candidate(), buyers=twins).customer_key
        == "other-key"
    )


def test_a_csv_row_may_name_what_the_host_uses() -> None:
    assert judged(
        AdoptionQuestion(2, "vg0/web12", "Acme"), candidate(host_use="mounted at /srv")
    ).is_good


def test_what_the_host_lives_on_is_adopted_by_no_way() -> None:
    own = candidate(host_use="mounted at /", is_hosts_own=True)
    found = judged(AdoptionQuestion(2, "vg0/web12", "Acme"), own)
    assert found.verdict == AdoptionVerdict.HOSTS_OWN
    assert found.message == (
        "The host itself runs on this volume (mounted at /), so it cannot be assigned."
    )


def test_a_new_customer_is_made_only_where_that_is_asked_for() -> None:
    found = judged(AdoptionQuestion(2, "vg0/web12", "New Ltd"), candidate(), make_customers=True)
    assert found.is_good
    assert (found.customer_key, found.customer_name) == ("", "New Ltd")


def test_two_names_of_one_volume_are_adopted_once() -> None:
    asks = [
        AdoptionQuestion(2, "vg0/web12", "Acme", "1"),
        AdoptionQuestion(3, "uuid-web12", "Acme", "2"),
    ]
    found = judge_rows(asks, [candidate()], [ACME], frozenset(), make_customers=False)
    assert [each.verdict for each in found] == [AdoptionVerdict.ADOPT, AdoptionVerdict.AMBIGUOUS]
