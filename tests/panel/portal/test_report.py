"""Reports and the ledger, as pages and in the API."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from panel.accounts.api_tokens import issue
from panel.models import Intent, Order, OrderState, Proof, ProofState
from panel.proofs.measure import advance, begin_proof
from storage.models import CachePlan, Volume
from tests import make
from tests.one_line import on_one_line
from tests.panel.portal.shop import browser, seen
from tests.panel.proofs.past import Past, at, ordered, sampled

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def minute(settings: Any) -> None:
    settings.TIERCEL_PROOF_SECONDS = 60
    settings.TIERCEL_PROOF_WARM_SECONDS = 120
    settings.TIERCEL_SAMPLE_SECONDS = 10
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True


def past_order(after: float = 0.7, *, seconds: float = 1000, **fields: Any) -> Past:
    """An order whose proof came as far as that."""
    past = ordered(**fields)
    sampled(past.volume, 0, 300, hit_rate=0.2)
    sampled(past.volume, 310, 900, hit_rate=after, read_ms=1.0)
    proof = begin_proof(past.order)
    assert proof is not None
    advance(proof, at(seconds))
    return past


def sold(past: Past) -> None:
    """Let the volume have the plan, and the order be one that can be taken back."""
    Volume.objects.filter(pk=past.volume.pk).update(cache_plan=past.order.to_plan)
    Order.objects.filter(pk=past.order.pk).update(revert_until=at(10**7))


def test_a_report_begins_with_its_verdict() -> None:
    past = past_order()
    text = seen(browser(past.shop.owner), "my-report", past.order.key)
    assert "It helped" in text
    assert "70\xa0% of reads came from SSD (before: 20\xa0%)." in text
    assert "99.9\xa0% sure" in text
    assert "the confidence applies to that time only" in text
    assert "percentage points. Neighbouring" in text
    assert "fewer reads per second" in text
    assert text.index("It helped") < text.index("Before and after") < text.index("How we compared")
    assert "data-charts" in text
    assert 'http-equiv="refresh"' not in text


def test_a_report_without_gain_offers_the_way_back_first() -> None:
    past = past_order(after=0.2)
    sold(past)
    text = seen(browser(past.shop.owner), "my-report", past.order.key)
    assert "No gain seen" in text
    assert "The slow disk" not in text
    assert (
        f'class="btn btn-primary" href="{reverse("my-order-revert", args=[past.order.key])}"'
        in text
    )


def test_who_bought_a_cache_for_writes_is_not_urged_to_undo_it_for_its_reads() -> None:
    past = past_order(after=0.2)
    CachePlan.objects.filter(pk=past.order.to_plan_id).update(mode="writeback")
    sold(past)
    text = seen(browser(past.shop.owner), "my-report", past.order.key)
    assert "No gain seen for reads" in text
    assert "Not worth the price" not in text


def wrote(write_ms: float, *, reads: int = 2000) -> Past:
    """The order of a plan that takes writes, which took 9 ms before it; its reads gain nothing."""
    past = ordered()
    CachePlan.objects.filter(pk=past.order.to_plan_id).update(mode="writeback")
    past.order.refresh_from_db()
    sampled(past.volume, 0, 300, reads=reads, writes=500, write_ms=9.0)
    sampled(past.volume, 310, 900, reads=reads, hit_rate=0.0, writes=500, write_ms=write_ms)
    proof = begin_proof(past.order)
    assert proof is not None
    advance(proof, at(1000))
    sold(past)
    return past


def test_a_report_tells_what_writes_gained_in_words_figures_and_method() -> None:
    past = wrote(0.3)
    text = seen(browser(past.shop.owner), "my-report", past.order.key)
    assert "It helped" in text
    assert "A write took 0.30\xa0ms on average instead of 9.00\xa0ms." in text
    assert "Average write time" in text
    assert "the verdict covers reads and writes" in text
    assert "The slow disk handles" not in text
    assert "Not worth the price" not in text


def test_a_report_in_german_tells_of_writes_too() -> None:
    past = wrote(0.3)
    client = browser(past.shop.owner)
    client.cookies["django_language"] = "de"
    path = reverse("my-report", args=[past.order.key])
    text = client.get(path, headers={"Accept-Language": "de"}).content.decode()
    assert "Ein Schreibzugriff dauerte im Durchschnitt" in text
    assert "Mittlere Schreibzeit" in text
    assert "der Bericht beurteilt daher Lese- und Schreibzugriffe" in text


def test_where_writes_were_judged_and_gained_nothing_either_the_way_back_is_suggested() -> None:
    past = wrote(9.0)
    text = seen(browser(past.shop.owner), "my-report", past.order.key)
    assert "No gain seen" in text
    assert "Not worth the price" in text


def test_the_report_of_a_volume_that_only_writes_shows_no_figure_of_reads() -> None:
    past = wrote(0.3, reads=2)
    text = seen(browser(past.shop.owner), "my-report", past.order.key)
    assert "only writes were judged" in text
    assert "percentage points. Neighbouring" not in text
    body = asked(past.shop.owner, f"/orders/{past.order.key}/proof").json()
    assert (body["verdict"], body["reads_verdict"]) == ("gain", None)
    assert body["figures"]["hit_rate_after"] is None
    assert (body["writes"]["verdict"], body["writes"]["counted"]) == ("gain", True)


def test_who_chose_less_is_not_urged_to_buy_it_back() -> None:
    past = past_order(after=0.05, intent=Intent.DOWNGRADE)
    sold(past)
    text = seen(browser(past.shop.owner), "my-report", past.order.key)
    assert "Fewer reads come from SSD" in text
    assert "Not worth the price" not in text
    revert = reverse("my-order-revert", args=[past.order.key])
    assert f'class="btn" href="{revert}"' in text


def test_a_viewer_reads_the_report_but_takes_nothing_back() -> None:
    past = past_order()
    sold(past)
    viewer = make.user()
    past.shop.customer.members.create(user=viewer, role="viewer")
    assert "Undo order" not in seen(browser(viewer), "my-report", past.order.key)


def test_a_report_that_is_not_ready_says_when_and_asks_again() -> None:
    past = past_order(seconds=440)
    text = seen(browser(past.shop.owner), "my-report", past.order.key)
    assert "We are measuring until" in text
    assert 'http-equiv="refresh" content="5"' in text
    assert 'hx-trigger="every 5s"' in text


def test_who_waits_for_a_report_is_shown_all_of_it_when_it_is_there() -> None:
    past = past_order()
    path = reverse("my-report", args=[past.order.key])
    response = browser(past.shop.owner).get(path, headers={"HX-Request": "true"})
    assert response["HX-Refresh"] == "true"


def test_the_volumes_page_tells_in_short_what_its_last_order_brought() -> None:
    past = past_order()
    sold(past)
    text = seen(browser(past.shop.owner), "my-volume", past.volume.key)
    assert "Result of your last change" in text
    assert "70\xa0% of reads came from SSD (before: 20\xa0%)." in text
    assert "Effect of the change" not in text


def test_an_order_that_was_just_done_has_a_page_before_its_proof_has_a_row() -> None:
    past = ordered()
    text = seen(browser(past.shop.owner), "my-report", past.order.key)
    assert "The report is being prepared" in text


def test_the_print_view_is_the_report_and_nothing_else() -> None:
    past = past_order()
    text = seen(browser(past.shop.owner), "my-report", past.order.key, print="1")
    assert "It helped" in text
    assert "topnav" not in text
    assert "data-charts" not in text


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        (
            {"kind": "own_misses", "hit_rate_low": 0.2, "hit_rate_high": 0.5},
            "We expected 20 to 50\N{NO-BREAK SPACE}% of your reads from SSD. "
            "The result is better than the forecast.",
        ),
        ({"kind": "no_help"}, "We expected no noticeable gain."),
        ({"kind": "unknown"}, "No forecast was possible before the order."),
        # What was said on that day, in the language of that day, is not said again.
        ({"kind": "unknown", "text": "Now a read takes 20.6 ms."}, "No forecast was possible"),
    ],
)
def test_what_was_expected_stands_beside_what_came(expected: dict[str, Any], said: str) -> None:
    past = past_order()
    Order.objects.filter(pk=past.order.pk).update(expected=expected)
    text = seen(browser(past.shop.owner), "my-report", past.order.key)
    assert said in on_one_line(text)
    assert "Now a read takes" not in text


def test_no_page_reads_the_blocks_that_only_comparing_needs() -> None:
    past = past_order()
    sold(past)
    client = browser(past.shop.owner)
    with CaptureQueriesContext(connection) as asked:
        seen(client, "my-volume", past.volume.key)
        seen(client, "my-order", past.order.key)
        seen(client, "my-report", past.order.key)
    assert not [each for each in asked.captured_queries if '"panel_proof"."before"' in each["sql"]]


def test_a_stranger_finds_no_report() -> None:
    past, other = past_order(), ordered(at=302)
    client = browser(other.shop.owner)
    assert client.get(reverse("my-report", args=[past.order.key])).status_code == 404


def test_an_order_that_is_not_done_has_no_report() -> None:
    past = ordered(state=OrderState.FAILED)
    client = browser(past.shop.owner)
    assert client.get(reverse("my-report", args=[past.order.key])).status_code == 404


@pytest.fixture
def staff() -> Client:
    return browser(make.staff_user(staff_role="read_only"))


def test_the_ledger_counts_what_came_of_each_plan(staff: Client) -> None:
    first = past_order()
    good = CachePlan.objects.get(pk=first.order.to_plan_id)
    Order.objects.update(expected={"hit_rate_low": 0.6, "hit_rate_high": 0.8})
    past_order(after=0.2, at=301, to_plan=good)
    past_order(seconds=440, at=302)
    response = staff.get(reverse("ledger"))
    assert response.status_code == 200
    everything = response.context["all"]
    assert (everything.count, everything.gains, everything.without) == (3, 1, 1)
    assert (everything.unfinished, everything.within, everything.compared) == (1, 1, 1)
    assert everything.mean_points == pytest.approx(25, abs=0.1)
    assert {tally.name: tally.count for tally in response.context["plans"]} == {
        good.name: 2,
        "Fast 302": 1,
    }
    text = response.content.decode()
    assert "60\xa0% to 80\xa0%" in text
    assert reverse("report", args=[first.order.key]) in text


def test_the_ledger_asks_a_fixed_number_of_questions(
    staff: Client, django_assert_max_num_queries: Any
) -> None:
    for n in range(4):
        past_order(at=300 + n)
    with django_assert_max_num_queries(14):
        staff.get(reverse("ledger"))


def test_the_ledger_is_newest_first_and_sorted_by_a_click(staff: Client) -> None:
    # The first that was ordered was done last.
    late, early = past_order(at=300), past_order(after=0.2, at=301)
    Order.objects.filter(pk=late.order.pk).update(ended_at=at(2000))
    Order.objects.filter(pk=early.order.pk).update(ended_at=at(1000))

    def order(**query: str) -> list[int]:
        answer = staff.get(reverse("ledger"), query)
        return [entry.order.pk for entry in answer.context["entries"]]

    assert order() == [late.order.pk, early.order.pk]
    assert order(sort="done") == [early.order.pk, late.order.pk]
    assert order(sort="after") == [early.order.pk, late.order.pk]
    assert order(sort="-after") == [late.order.pk, early.order.pk]
    text = staff.get(reverse("ledger")).content.decode()
    assert 'aria-sort="descending"' in text
    assert "sort=volume" in text
    lines = csv.DictReader(io.StringIO(staff.get(reverse("ledger-csv")).content.decode()))
    assert [line["order"] for line in lines] == [late.order.key, early.order.key]


def test_the_ledger_counts_a_gain_of_writes_and_lists_their_times(staff: Client) -> None:
    wrote(0.3, reads=2)
    response = staff.get(reverse("ledger"))
    assert response.context["all"].gains == 1
    assert response.context["all"].mean_points is None
    (line,) = csv.DictReader(io.StringIO(staff.get(reverse("ledger-csv")).content.decode()))
    assert (line["verdict"], line["reads_verdict"], line["writes_verdict"]) == ("gain", "", "gain")
    assert (float(line["write_ms_before"]), float(line["write_ms_after"])) == (9.0, 0.3)


def test_an_empty_ledger_says_what_will_stand_in_it(staff: Client) -> None:
    text = staff.get(reverse("ledger")).content.decode()
    assert "No measured orders yet" in text
    assert 'href="/plans/"' in text


def test_the_ledgers_csv_holds_every_order_and_no_formula(staff: Client) -> None:
    past = past_order()
    Volume.objects.filter(pk=past.volume.pk).update(label="=1+1")
    response = staff.get(reverse("ledger-csv"))
    (line,) = csv.DictReader(io.StringIO(response.content.decode()))
    assert (line["order"], line["verdict"], line["held"]) == (past.order.key, "gain", "")
    assert line["volume"] == "'=1+1"
    assert float(line["hit_rate_after"]) == pytest.approx(0.7, abs=0.001)


def test_staff_read_the_same_report_from_the_ledger(staff: Client) -> None:
    past = past_order()
    text = staff.get(reverse("report", args=[past.order.key])).content.decode()
    assert "It helped" in text
    assert "Undo order" not in text


def asked(user: Any, path: str) -> Any:
    _, text = issue(user, name="program", scopes=["read"], days=1)
    return Client().get(f"/api/v1{path}", headers={"Authorization": f"Bearer {text}"})


def test_programs_read_the_proof_of_an_order() -> None:
    past = past_order()
    body = asked(past.shop.owner, f"/orders/{past.order.key}/proof").json()
    assert (body["state"], body["verdict"], body["confidence"]) == ("ready", "gain", 0.999)
    assert body["figures"]["hit_rate_after"] == pytest.approx(0.7, abs=0.001)
    assert body["sentence"].startswith("It helped. 70 % of reads")
    assert (body["reads_verdict"], body["writes"], body["is_weighed"]) == ("gain", None, False)
    assert asked(make.user(), f"/orders/{past.order.key}/proof").status_code == 404


def test_the_list_of_proofs_is_that_of_ones_own_and_narrowed_by_verdict() -> None:
    past = past_order()
    past_order(at=301)
    body = asked(past.shop.owner, "/proofs/").json()
    assert [item["order"]["key"] for item in body["items"]] == [past.order.key]
    assert asked(past.shop.owner, "/proofs/?verdict=loss").json()["items"] == []
    assert asked(past.shop.owner, "/proofs/?verdict=great").status_code == 400


def test_what_cannot_be_measured_has_its_reason_in_every_place(staff: Client) -> None:
    past = past_order()
    proof = Proof.objects.get()
    Proof.objects.filter(pk=proof.pk).update(
        state=ProofState.IMPOSSIBLE, verdict="", result={}, reason_code="gaps", reason="Missing."
    )
    assert "Missing." in seen(browser(past.shop.owner), "my-report", past.order.key)
    assert "Missing." in staff.get(reverse("ledger")).content.decode()
    body = asked(past.shop.owner, f"/orders/{past.order.key}/proof").json()
    assert (body["verdict"], body["figures"], body["reason_code"]) == (None, None, "gaps")


def test_the_page_of_an_order_shows_how_fast_reads_are_while_the_cache_warms_up() -> None:
    past = ordered()
    sampled(past.volume, 0, 300)
    sampled(past.volume, 310, 600, hit_rate=0.5, read_ms=2.0)
    assert begin_proof(past.order) is not None
    for name in ("my-order", "my-order-status"):
        with time_machine.travel(at(605), tick=False):
            text = seen(browser(past.shop.owner), name, past.order.key)
        line = text[text.index('id="warming"') :]
        assert "Read time now" in line
        assert "read time, last hour: 2.00\xa0ms to 8.00\xa0ms" in line
    Proof.objects.all().delete()
    assert 'id="warming"' not in seen(browser(past.shop.owner), "my-order", past.order.key)
