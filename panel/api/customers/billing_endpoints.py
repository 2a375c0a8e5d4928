"""The suspension of customers, and what an upgrade would bring to a volume."""

from __future__ import annotations

from django.db.models.functions import Now
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework import described
from panel.api.framework.fields import Boolean, Float, Integer, Text
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Shape, show
from panel.api.resource_json import plan_ref
from panel.api.response_shapes import Json, Ref, SuspensionShape
from panel.models import Scope
from panel.orders import plan_choices
from panel.orders.order_expectations import expectations, others_of
from panel.orders.plan_choices import PlanChoice
from storage import currency
from storage.access import Right
from storage.analysis.forecast import Expectation
from storage.analysis.measured_use import use_of
from storage.models import Customer, Volume
from storage.volumes.snapshot import snapshots_of


class CustomerSuspension(Resource):
    """A customer who cannot order."""

    read_scope = Scope.CUSTOMERS_READ
    staff_only = True
    write_scope = Scope.CUSTOMERS
    takes_no_body = True

    @extend_schema(
        operation_id="customer_suspension",
        summary="Show the suspension of a customer",
        responses={200: SuspensionShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """404 while there is none."""
        customer = get_object_or_404(Customer.objects.visible_to(self.user), key=key)
        if customer.suspended_at is None:
            raise Http404
        return Response(show(SuspensionShape, {"suspended_at": customer.suspended_at}))

    @extend_schema(
        operation_id="customer_suspend",
        summary="Suspend a customer",
        request=None,
        responses={200: SuspensionShape, **described.problems(403, 404)},
    )
    def put(self, request: Request, key: str) -> Response:
        """For operators. No new orders; data, caches and what runs already stay."""
        customer = self._customer(key)
        Customer.objects.filter(pk=customer.pk, suspended_at=None).update(suspended_at=Now())
        customer.refresh_from_db()
        return Response(show(SuspensionShape, {"suspended_at": customer.suspended_at}))

    @extend_schema(
        operation_id="customer_unsuspend",
        summary="Let a customer order again",
        responses={204: None, **described.problems(403, 404)},
    )
    def delete(self, request: Request, key: str) -> Response:
        """For operators."""
        Customer.objects.filter(pk=self._customer(key).pk).update(suspended_at=None)
        return Response(status=204)

    def _customer(self, key: str) -> Customer:
        customer = get_object_or_404(Customer.objects.visible_to(self.user), key=key)
        self.demand(Right.OPERATE)
        return customer


class ExpectationShape(Shape):
    """What a plan would bring, by the volume's own figures."""

    kind = Text("no_help, or how the expectation was come by.")
    hit_rate_low = Float(
        "Share of reads that the cache would serve at least, 0 to 1; null: not known.",
        required=False,
        null=True,
    )
    hit_rate_high = Float("Share of reads that it would serve at most.", required=False, null=True)


class OutlookChoiceShape(Shape):
    """A plan for the volume; null: none. `price_minor` is a month, `refusal` why it cannot be
    ordered now."""

    cache_plan = Ref("The cache plan.", null=True)
    current = Boolean("Whether the volume has it now.")
    price_minor = Integer("Per month, in minor units (cents) of the currency.", null=True)
    currency = Text("ISO 4217, such as EUR.")
    currency_digits = Integer("Decimal places of the currency: with 2, 490 minor units are 4.90.")
    refusal = Text("Its code.", null=True)
    expected = ExpectationShape("What it would bring; null: nobody can say.", null=True)


class OutlookShape(Shape):
    """The plans that a volume could have."""

    items = OutlookChoiceShape("The rows of this answer, one each.", many=True)


class VolumeOutlook(Resource):
    """What an upgrade would bring."""

    read_scope = Scope.BILLING_READ

    @extend_schema(
        operation_id="volume_outlook",
        summary="Show what each cache plan would bring to a volume",
        responses={200: OutlookShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """As on the page of plans. `POST …/orders?dry_run=true` says what one would cost."""
        volumes = Volume.objects.visible_to(self.user).in_service()
        volume = get_object_or_404(volumes.select_related("customer", "cache_plan"), key=key)
        row, now = snapshots_of([volume])[0], timezone.now()
        offered = plan_choices.choices(row, now)
        offers = [each.offer for each in offered]
        expected = expectations(use_of(row, now), offers, source=others_of(volume))
        items = [_choice_json(each, expected.get(each.offer.key)) for each in offered]
        return Response(show(OutlookShape, {"items": items}))


def _choice_json(choice: PlanChoice, expected: Expectation | None) -> Json:
    plan = choice.offer.plan
    return {
        "cache_plan": plan_ref(plan),
        "current": choice.offer.is_current,
        "price_minor": plan.price_minor if plan is not None else 0,
        **currency.with_digits(plan.currency if plan is not None else ""),
        "refusal": choice.refusal.code if choice.refusal is not None else None,
        "expected": expected,
    }
