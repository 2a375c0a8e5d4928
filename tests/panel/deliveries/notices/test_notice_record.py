"""What happens to an order is written down for everybody who is to be notified."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from pytest_django import DjangoCaptureOnCommitCallbacks

from jobs import notify_workers
from panel.deliveries.notices import notice_delivery
from panel.models import Mute, Notice, NoticeKind, Order, User
from panel.orders import events
from tests import make
from tests.panel.deliveries.notices.case import case

pytestmark = pytest.mark.django_db


def notified(kind: str = NoticeKind.DONE) -> set[str]:
    return set(Notice.objects.filter(kind=kind).values_list("user__email", flat=True))


@pytest.mark.parametrize(
    ("signal", "kind"),
    [
        (events.completed, "done"),
        (events.failed, "failed"),
        (events.refused, "failed"),
        (events.proof_ready, "proof"),
    ],
)
def test_each_ending_notifies_everybody_of_the_customer(signal: Any, kind: str) -> None:
    there = case()
    stranger = make.user()
    make.customer().members.create(user=stranger, role="owner")
    signal.send(sender=Order, order=there.order)
    assert notified(kind) == {there.viewer.email, there.shop.owner.email}
    assert Notice.objects.count() == 2


@pytest.mark.parametrize("signal", [events.placed, events.cancelled])
def test_what_a_person_has_just_done_does_not_notify(signal: Any) -> None:
    signal.send(sender=Order, order=case().order)
    assert not Notice.objects.exists()


def test_who_does_not_want_it_or_may_not_sign_in_is_not_notified() -> None:
    there = case()
    Mute.objects.create(user=there.viewer, kind="done")
    User.objects.filter(pk=there.shop.owner.pk).update(is_active=False)
    notice_delivery.notify(there.order, NoticeKind.DONE)
    assert notified() == set()
    notice_delivery.notify(there.order, NoticeKind.FAILED)
    assert notified("failed") == {there.viewer.email}


def test_reported_twice_it_is_written_once() -> None:
    there = case()
    for _ in range(2):
        notice_delivery.notify(there.order, NoticeKind.DONE)
    assert Notice.objects.count() == 2


def test_it_is_written_with_what_it_tells_of_or_not_at_all() -> None:
    there = case()
    with pytest.raises(RuntimeError), transaction.atomic():
        events.completed.send(sender=Order, order=there.order)
        raise RuntimeError
    assert not Notice.objects.exists()


def test_workers_are_notified_after_the_commit(
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    sent: list[str] = []
    monkeypatch.setattr(notify_workers, "send", sent.append)
    there = case()
    with django_capture_on_commit_callbacks(execute=True):
        notice_delivery.notify(there.order, NoticeKind.DONE)
        assert sent == []
    assert sent == [notice_delivery.TASK]
