"""An order's whole way, seen through the wall of the person who asks (`storage.row_security`)."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from jobs.models import Job, State
from jobs.requester import Requester
from panel.models import Notice, Order, OrderState
from panel.orders import authorisation
from panel.orders.plan_choices import choices
from storage import row_security
from storage.volumes.snapshot import snapshots_of
from tests import make
from tests.panel.orders.till import buy, finish, has_cache, mandate, take_back
from tests.panel.portal.shop import plan, shop
from tests.scene import end

pytestmark = pytest.mark.django_db


def test_a_member_orders_cancels_goes_back_and_the_other_members_are_notified(
    settings: Settings,
) -> None:
    settings.TIERCEL_MANDATE_REQUIRED = True
    settings.TIERCEL_BILLING_URL = "https://billing.example"
    acme, fast = shop(), plan()
    acme.customer.members.create(user=make.user(), role="viewer")
    mandate(acme.customer)
    with row_security.scope(str(acme.owner.pk)):
        assert choices(snapshots_of([acme.volume])[0])
        asked = buy(acme, fast)
        assert asked.state == OrderState.AUTHORISING
        authorisation.cancel_order(asked, Requester(acme.owner, None))
    settings.TIERCEL_BILLING_URL = ""
    with row_security.scope(str(acme.owner.pk)):
        first = buy(acme, fast)
    end(Job.objects.get(pk=first.job_id), State.FAILED)
    with row_security.scope(str(acme.owner.pk)):
        second = buy(acme, fast)  # and the first one, whose job is over, ends here
    first.refresh_from_db()
    assert first.state == OrderState.FAILED
    assert Notice.objects.filter(order=first).count() == 2
    finish(second)
    has_cache(acme)
    with row_security.scope(str(acme.owner.pk)):
        back = take_back(second, acme.owner)
    assert Order.objects.get(pk=back.pk).state == OrderState.RUNNING


def test_a_plan_of_hosts_that_a_member_cannot_see_is_not_offered_for_theirs() -> None:
    acme = shop()
    plan("Elsewhere").hosts.add(make.host())
    plan("Here").hosts.add(acme.there.host)
    with row_security.scope(str(acme.owner.pk)):
        offered = choices(snapshots_of([acme.volume])[0])
    assert [each.offer.name for each in offered] == ["No cache", "Here"]
