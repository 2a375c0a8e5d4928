"""Notices are sent once, and tried again where the mail server is away."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.core.mail import EmailMessage
from django.db.models.functions import Now

from panel import tasks
from panel.deliveries.delivery_loop import deliver_due
from panel.deliveries.notices import notice_delivery
from panel.deliveries.notices.notice_delivery import NOTICE_MAILS
from panel.models import Mute, Notice, NoticeKind, User
from tests.panel.deliveries.notices.case import Case, case
from tests.panel.portal.shop import clean

pytestmark = pytest.mark.django_db


@pytest.fixture
def there() -> Case:
    """With a notice to Vera alone."""
    made = case()
    Mute.objects.create(user=made.shop.owner, kind="done")
    notice_delivery.notify(made.order, NoticeKind.DONE)
    return made


def notice() -> Notice:
    return Notice.objects.get()


def later() -> None:
    """Let the time pass until it is tried again."""
    Notice.objects.update(next_at=Now() - timedelta(seconds=1))


@pytest.fixture
def down(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A mail server that takes nothing while the list is empty."""
    up: list[int] = []
    send = EmailMessage.send

    def sending(message: EmailMessage, *args: Any, **kwargs: Any) -> int:
        if not up:
            raise ConnectionRefusedError("connection refused")
        return send(message, *args, **kwargs)

    monkeypatch.setattr(EmailMessage, "send", sending)
    return up


def test_it_is_sent_to_its_person(there: Case) -> None:
    tasks.send_notices()
    (sent,) = mail.outbox
    assert sent.to == ["vera@example.org"]
    assert sent.subject == "Done: Acme mail now has the plan Fast"
    assert f"/my/orders/{there.order.key}/" in clean(str(sent.body))
    assert (notice().delivered_at is not None, notice().attempts) == (True, 1)


def test_it_is_sent_once(there: Case) -> None:
    for _ in range(3):
        later()
        deliver_due(NOTICE_MAILS)
    assert len(mail.outbox) == 1


def test_of_two_workers_one_sends_it(there: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    send = EmailMessage.send

    def meanwhile(message: EmailMessage, *args: Any, **kwargs: Any) -> int:
        deliver_due(NOTICE_MAILS)
        return send(message, *args, **kwargs)

    monkeypatch.setattr(EmailMessage, "send", meanwhile)
    deliver_due(NOTICE_MAILS)
    assert len(mail.outbox) == 1


def test_a_worker_that_dies_while_it_sends_holds_it_for_a_while_only(
    there: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(message: EmailMessage) -> int:
        raise Killed

    with monkeypatch.context() as dying, pytest.raises(Killed):
        dying.setattr(EmailMessage, "send", die)
        deliver_due(NOTICE_MAILS)
    deliver_due(NOTICE_MAILS)
    assert not mail.outbox
    later()
    deliver_due(NOTICE_MAILS)
    assert len(mail.outbox) == 1


def test_it_is_tried_again_and_nothing_is_lost(there: Case, down: list[int]) -> None:
    deliver_due(NOTICE_MAILS)
    found = notice()
    assert (found.given_up_at, found.attempts) == (None, 1)
    assert found.last_error == "The mail server refused the connection."
    assert timedelta(seconds=50) < found.next_at - found.created_at <= timedelta(seconds=90)
    deliver_due(NOTICE_MAILS)
    assert notice().attempts == 1
    down.append(1)
    later()
    deliver_due(NOTICE_MAILS)
    assert (notice().delivered_at is not None, notice().last_error) == (True, "")
    assert len(mail.outbox) == 1


def test_after_too_many_tries_it_is_given_up(there: Case, down: list[int]) -> None:
    for _ in range(len(NOTICE_MAILS.pauses) + 3):
        later()
        deliver_due(NOTICE_MAILS)
    assert notice().given_up_at is not None
    assert notice().attempts == len(NOTICE_MAILS.pauses) + 1
    assert not mail.outbox


def test_an_address_that_no_mail_can_have_delays_no_other_message(there: Case) -> None:
    User.objects.filter(pk=there.viewer.pk).update(email="vera@example.org\nBcc: all@example.org")
    Mute.objects.all().delete()
    notice_delivery.notify(there.order, NoticeKind.DONE)
    deliver_due(NOTICE_MAILS)
    assert [sent.to for sent in mail.outbox] == [[there.shop.owner.email]]
    bad = Notice.objects.get(user=there.viewer)
    assert (bad.given_up_at, bad.attempts) == (None, 1)
    assert "newlines" in bad.last_error


def test_an_unforeseen_error_is_tried_again_and_given_up_like_any_failure(
    there: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise LookupError("of the test")

    monkeypatch.setattr(notice_delivery, "letter", broken)
    deliver_due(NOTICE_MAILS)
    assert (notice().given_up_at, notice().attempts) == (None, 1)
    assert "worker's log" in notice().last_error
    Notice.objects.update(attempts=len(NOTICE_MAILS.pauses))
    later()
    deliver_due(NOTICE_MAILS)
    assert notice().given_up_at is not None


def test_every_try_has_the_same_name_for_mail_servers(there: Case) -> None:
    first, second = (
        notice_delivery.notice_message(notice()),
        notice_delivery.notice_message(notice()),
    )
    assert first.extra_headers["Message-ID"] == second.extra_headers["Message-ID"]
    assert notice().key in first.extra_headers["Message-ID"]


def test_what_was_sent_is_forgotten_after_months_and_what_waits_is_not(there: Case) -> None:
    tasks.send_notices()
    notice_delivery.notify(there.order, NoticeKind.PROOF)
    long_ago = Now() - notice_delivery.KEPT - timedelta(hours=1)
    Notice.objects.update(created_at=long_ago)
    Notice.objects.exclude(delivered_at=None).update(delivered_at=long_ago)
    tasks.prune_messages()
    assert {each.delivered_at for each in Notice.objects.all()} == {None}


@pytest.mark.parametrize("change", ["muted", "left", "deactivated"])
def test_who_wants_it_no_more_meanwhile_does_not_get_it(there: Case, change: str) -> None:
    if change == "muted":
        Mute.objects.create(user=there.viewer, kind="done")
    elif change == "left":
        there.viewer.memberships.all().delete()
    else:
        User.objects.filter(pk=there.viewer.pk).update(is_active=False)
    deliver_due(NOTICE_MAILS)
    assert not mail.outbox
    assert notice().last_error == notice_delivery.NOT_WANTED
    assert notice().given_up_at is not None


def test_one_click_ends_the_kind(there: Case) -> None:
    headers = notice_delivery.notice_message(notice()).extra_headers
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert "/notices/off/" in headers["List-Unsubscribe"]
