"""What an upgrade would bring to a volume."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework.api_operations import operation
from panel.api.framework.fields import Boolean, CurrencyDigits, Float, Integer, Text
from panel.api.framework.refs import Ref
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Shape, show
from panel.models import Scope
from panel.orders import plan_choices
from panel.orders.order_expectations import expected_for
from panel.orders.plan_choices import PlanChoice
from storage.analysis.measured_use import use_of
from storage.models import Volume
from storage.volumes.snapshot import snapshots_of


class ExpectationShape(Shape):
    """The expected effect of a plan, based on the volume's figures."""

    kind = Text("no_help, or the basis of the expectation.")
    text = Text("The same as a sentence for people, as on the page of plans.")
    basis = Text("Its basis, as a sentence for people.")
    hit_rate_low = Float(
        "Share of reads that the cache would serve at least, 0 to 1; null: unknown.", null=True
    )
    hit_rate_high = Float("Share of reads that it would serve at most.", null=True)
    read_ms_low = Float("Milliseconds that a read would take, at least; null: unknown.", null=True)
    read_ms_high = Float("Milliseconds that a read would take, at most.", null=True)
    saved_seconds_per_day_low = Float(
        "Seconds of waiting that it would save per day, at least; below 0: it would add some; "
        "null: unknown.",
        null=True,
    )
    saved_seconds_per_day_high = Float(
        "Seconds of waiting that it would save a day, at most.", null=True
    )


def _currency(choice: PlanChoice) -> str:
    plan = choice.offer.plan
    return plan.currency if plan is not None else ""


class OutlookChoiceShape(Shape):
    """A plan for the volume; null: none. `price_minor` is a month, `refusal` why it cannot be
    ordered now."""

    cache_plan = Ref("The cache plan.", of="offer.plan", null=True)
    current = Boolean("Whether the volume has it now.", of="offer.is_current")
    price_minor = Integer(
        "Per month, in minor units (cents) of the currency.",
        of=lambda choice: choice.offer.plan.price_minor if choice.offer.plan else 0,
        null=True,
    )
    currency = Text("ISO 4217, such as EUR.", of=_currency)
    currency_digits = CurrencyDigits(of=_currency)
    refusal = Text("Its code.", of="refusal.code", null=True)
    expected = ExpectationShape("What it would bring; null: unknown.", null=True, given=True)


class OutlookShape(Shape):
    """The plans that a volume could have."""

    items = OutlookChoiceShape("The rows of this answer, one each.", many=True)


class VolumeOutlook(Resource):
    """What an upgrade would bring."""

    read_scope = Scope.BILLING_READ

    @operation("volume_outlook", "Show what each cache plan would bring to a volume", OutlookShape)
    def get(self, request: Request, key: str) -> Response:
        """As on the page of plans. `POST …/orders?dry_run=true` shows the cost of a plan."""
        volumes = Volume.objects.visible_to(self.user).in_service()
        volume = get_object_or_404(volumes.select_related("customer", "cache_plan"), key=key)
        row, now = snapshots_of([volume])[0], timezone.now()
        offered = plan_choices.choices(row, now)
        offers = [each.offer for each in offered]
        expected = expected_for(row, use_of(row, now), offers, now)
        items = [
            show(OutlookChoiceShape, each, expected=expected.get(each.offer.key))
            for each in offered
        ]
        return self.shown({"items": items})
