"""Cache plans for sale. Customers see the plans on offer; administrators create and change them."""

from __future__ import annotations

from typing import ClassVar

from django.db import transaction
from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import operation
from panel.api.framework.bodies import Body, save, unfit
from panel.api.framework.fields import Boolean, Choice, CurrencyDigits, Integer, Text, Texts
from panel.api.framework.refs import Noun, Ref
from panel.api.framework.resource import Resource
from panel.models import Scope
from panel.orders.plan_removal import delete_plan
from storage.access import Person, Right
from storage.models import CachePlan, Host
from storage.models.host import MOST_SLOW_MS


class CachePlanShape(Noun):
    """A cache plan: `size_bytes`, or `ratio_percent` of the volume. The price is per month, in
    minor units of the currency. `slow_read_ms`, `on_offer` and `hosts` are for staff."""

    name = Text("Display name.")
    description = Text("What it offers, in a sentence for customers.")
    size_bytes = Integer("Bytes.", null=True)
    ratio_percent = Integer(
        "Size in percent of the volume's size; null: `size_bytes` applies.", null=True
    )
    mode = Text("How writes are cached: writethrough or writeback.")
    tier = Text("Tier of the volumes that can have it.")
    price_minor = Integer("Per month, in minor units (cents) of the currency.")
    currency = Text("ISO 4217, such as EUR.")
    currency_digits = CurrencyDigits()
    slow_read_ms = Integer(
        "Average read time, in ms, from which a volume with the plan counts as slow; null: the "
        "host's limit.",
        null=True,
        staff=True,
    )
    on_offer = Boolean("Whether customers can order it.", staff=True)
    hosts = Ref("The hosts that offer it; empty: every host.", many=True, staff=True)


class CachePlanBody(Body):
    """A cache plan: `size_bytes` or `ratio_percent`, not both."""

    shows = CachePlanShape
    name = Text(max_length=64)
    description = Text(required=False, allow_blank=True)
    size_bytes = Integer(required=False, null=True, min_value=1)
    ratio_percent = Integer(required=False, null=True, min_value=1, max_value=100)
    mode = Choice("How writes are cached.", ["writethrough", "writeback"], required=False)
    price_minor = Integer("The monthly price in minor units (cents) of the currency.", min_value=0)
    currency = Text(max_length=3)
    slow_read_ms = Integer(required=False, null=True, min_value=1, max_value=MOST_SLOW_MS)
    on_offer = Boolean(required=False)
    hosts = Texts("Keys of the hosts that offer the plan. Empty: every host.", required=False)


class PlanResource(Resource):
    """Of cache plans."""

    read_scope = Scope.BILLING_READ
    write_scope = Scope.PLANS

    def plan(self, key: str, right: Right | None = None) -> CachePlan:
        """The plan with this key; demands the right, if one is given."""
        plan = get_object_or_404(CachePlan.objects.visible_to(self.user), key=key)
        if right is not None:
            self.demand(right)
        return plan

    @transaction.atomic
    def saved(self, plan: CachePlan, status: int = 200) -> Response:
        """The plan with the values of the body."""
        values = self.read()
        hosts = values.pop("hosts", None)
        save(plan, values)
        if hosts is not None:
            plan.hosts.set(hosts_of(hosts, self.user))
        return self.shown(plan, status)


class CachePlans(PlanResource):
    """The cache plans that the person may see."""

    listing: ClassVar = Listing(
        "cache-plans",
        CachePlanShape,
        sorts={"name": "name", "price_minor": "price_minor"},
        searched=("name",),
        search_text="Part of the name.",
    )

    @operation("cache_plans_list", "List cache plans", listing)
    def get(self, request: Request) -> Response:
        """Oldest first."""
        return self.page(CachePlan.objects.visible_to(self.user).prefetch_related("hosts"))

    @operation(
        "cache_plan_make",
        "Create a cache plan",
        CachePlanShape,
        status=201,
        body=CachePlanBody,
        problems=(400, 409),
    )
    def post(self, request: Request) -> Response:
        """For administrators."""
        self.demand(Right.ADMINISTER)
        return self.saved(CachePlan(), status=201)


class OneCachePlan(PlanResource):
    """One cache plan."""

    @operation("cache_plan", "Show a cache plan", CachePlanShape)
    def get(self, request: Request, key: str) -> Response:
        """Size, mode and price."""
        return self.shown(self.plan(key))

    @operation(
        "cache_plan_change",
        "Change a cache plan",
        CachePlanShape,
        body=CachePlanBody,
        problems=(409,),
    )
    def patch(self, request: Request, key: str) -> Response:
        """For administrators. `on_offer: false` ends the sale of a plan."""
        return self.saved(self.plan(key, Right.ADMINISTER))

    @operation("cache_plan_delete", "Delete a cache plan", problems=(409,))
    def delete(self, request: Request, key: str) -> Response:
        """For administrators. Refused for a plan that was ever used: set `on_offer` to false
        instead."""
        delete_plan(self.plan(key, Right.ADMINISTER))
        return Response(status=204)


def hosts_of(keys: list[str], user: Person) -> list[Host]:
    """The hosts of a body's `hosts`; raises `ApiProblem`."""
    hosts = list(Host.objects.visible_to(user).without_inventory().filter(key__in=keys))
    if len(hosts) != len(set(keys)):
        raise unfit("hosts", "There is no such host.", "unknown")
    return hosts
