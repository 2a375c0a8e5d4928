"""What a customer let the provider charge without asking again."""

from __future__ import annotations

from typing import Self

import pghistory
from django.db import models

from storage.access import Person
from storage.models import Customer


class MandateQuerySet(models.QuerySet["Mandate"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to mandates: those of the customers the person sees."""
        return self.filter(customer__in=Customer.objects.visible_to(user))


@pghistory.track(
    pghistory.InsertEvent(),
    pghistory.UpdateEvent(row=pghistory.Old),
    pghistory.DeleteEvent(),
    # The event says when.
    exclude=["changed_at"],
    context_field=pghistory.ContextJSONField(),
    append_only=True,
)
class Mandate(models.Model):
    """The payment authorisation a customer gave, as the billing system last told it: amounts in
    minor units of `currency`, `cap_charge_minor` for one charge, `cap_period_minor` for all charges
    of a calendar month (UTC); nothing may be charged before `earliest_next_at`. Null is "unknown",
    never "no limit": whoever does not know a cap may not charge against it.
    """

    customer = models.OneToOneField(Customer, on_delete=models.CASCADE, related_name="mandate")
    currency = models.CharField(max_length=3)
    cap_charge_minor = models.BigIntegerField(null=True, blank=True)
    cap_period_minor = models.BigIntegerField(null=True, blank=True)
    earliest_next_at = models.DateTimeField(null=True, blank=True)
    changed_at = models.DateTimeField(auto_now=True)

    objects = MandateQuerySet.as_manager()

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=models.Q(currency__regex="^[A-Z]{3}$"), name="mandate_currency_iso"
            ),
            models.CheckConstraint(
                condition=(models.Q(cap_charge_minor=None) | models.Q(cap_charge_minor__gte=0))
                & (models.Q(cap_period_minor=None) | models.Q(cap_period_minor__gte=0)),
                name="mandate_caps_not_negative",
            ),
        )

    def __str__(self) -> str:
        return f"mandate of {self.customer}"
