"""The one loop that sends every kind of outgoing message."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.db.models import QuerySet
from django.db.models.functions import Now

from panel.deliveries.delivery_loop import INTERNAL, DeliveryKind, NotTaken, deliver_due
from panel.deliveries.http_post import Answer, NoResponse
from panel.models import Message

pytestmark = pytest.mark.django_db

TAKEN = Answer(200, b"")


class Sent(DeliveryKind[Message]):
    """Messages whose names say what becomes of them: `answers` by name, the others are taken."""

    task = "test"
    pauses = (5, 60)

    def __init__(self, **answers: Answer | Exception) -> None:
        self.answers, self.names, self.stops = answers, list[str](), False

    def due(self) -> QuerySet[Message]:
        return Message.objects.due()

    def send(self, row: Message) -> Answer:
        self.names.append(row.name)
        answer = self.answers.get(row.name, TAKEN)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def after_failure(self, row: Message, failure: NotTaken) -> bool:
        return not self.stops


@pytest.fixture
def written() -> Callable[[str], Message]:
    """Makes a message of that name, due after those before."""

    def write(name: str) -> Message:
        row = Message.objects.create(name=name, type="usage.line", payload={})
        Message.objects.filter(pk=row.pk).update(next_at=Now() - timedelta(minutes=1))
        return row

    return write


@pytest.mark.parametrize("stops", [False, True])
def test_a_defect_in_one_message_holds_up_no_other(
    written: Callable[[str], Message], stops: bool
) -> None:
    """Also where a receiver that fails gets no other message for a while: it did not fail."""
    bad, good = written("bad"), written("good")
    kind = Sent(bad=LookupError("of the test"))
    kind.stops = stops
    assert deliver_due(kind) == 2
    bad.refresh_from_db()
    good.refresh_from_db()
    assert (bad.state, bad.last_error) == ("waiting", INTERNAL)
    assert good.state == "delivered"


def test_a_refusal_is_recorded_and_tried_again_after_its_pause(
    written: Callable[[str], Message],
) -> None:
    row = written("bad")
    kind = Sent(bad=Answer(500, b""))
    deliver_due(kind)
    row.refresh_from_db()
    assert (row.last_status, row.last_error) == (500, "The receiver answered with 500.")
    first = row.next_at
    for _ in kind.pauses:
        Message.objects.update(next_at=Now())
        deliver_due(kind)
    row.refresh_from_db()
    assert kind.names == ["bad"] * 3
    assert row.state == "given_up"
    assert timedelta(seconds=4) < first - row.created_at < timedelta(seconds=8)


def test_no_answer_is_recorded_in_words(written: Callable[[str], Message]) -> None:
    row = written("bad")
    deliver_due(Sent(bad=NoResponse("No answer within 10 s.")))
    row.refresh_from_db()
    assert (row.last_status, row.last_error) == (None, "No answer within 10 s.")


def test_a_kind_that_stops_leaves_the_others_due(written: Callable[[str], Message]) -> None:
    written("bad")
    good = written("good")
    kind = Sent(bad=Answer(500, b""))
    kind.stops = True
    assert deliver_due(kind) == 1
    good.refresh_from_db()
    assert (kind.names, good.attempts) == (["bad"], 0)


def test_a_database_that_is_away_ends_no_message(written: Callable[[str], Message]) -> None:
    """The error reaches the task; the message is due again once its sender's lease has ended."""
    row = written("bad")
    with pytest.raises(OperationalError):
        deliver_due(Sent(bad=OperationalError("gone")))
    row.refresh_from_db()
    assert (row.state, row.last_error) == ("waiting", "")
