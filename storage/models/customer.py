"""Customers, to whom volumes belong."""

from __future__ import annotations

from typing import Self

import pghistory
from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from storage.access import MemberRole, Person, is_staff, member
from storage.database_clock import touched
from storage.name_validators import demand_name
from storage.naming import new_key
from storage.natural_order import natural_order


class CustomerQuerySet(models.QuerySet["Customer"]):
    def visible_to(self, user: Person) -> Self:
        """The only way from a request to customers: staff see all, members their own."""
        return self if is_staff(user) else self.filter(member(user, "members"))


@pghistory.track(
    pghistory.InsertEvent(),
    pghistory.UpdateEvent(row=pghistory.Old),
    pghistory.DeleteEvent(),
    exclude=["name_order", "updated_at"],
    context_field=pghistory.ContextJSONField(),
    append_only=True,
)
class Customer(models.Model):
    """`external_id` is the billing system's name for it, "" where it has none. `suspended_at` is
    since when nothing may be ordered (null = it may); its data and its caches stay. `updated_at` is
    kept by the database."""

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    name = models.CharField(max_length=200, validators=[demand_name])
    name_order = natural_order("name")
    external_id = models.CharField(max_length=64, blank=True, validators=[demand_name])
    suspended_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = CustomerQuerySet.as_manager()

    class Meta:
        ordering = ("name_order", "id")
        constraints = (
            models.UniqueConstraint(
                fields=("external_id",),
                condition=~models.Q(external_id=""),
                name="customer_external_id_once",
                violation_error_message="Another customer has this external id.",
                violation_error_code="external_id_taken",
            ),
        )
        indexes = (models.Index(fields=("updated_at",), name="customer_updated"),)
        # The database knows the order of names only once the row is written.
        triggers = (touched("customer_touched", "name_order"),)

    def __str__(self) -> str:
        return self.name


class Member(models.Model):
    """A person of a customer."""

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, related_name="members")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(
        max_length=8,
        choices=[(role, role.value) for role in MemberRole],
        default=MemberRole.VIEWER,
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("customer", "user"), name="member_once"),
            models.CheckConstraint(
                condition=models.Q(role__in=list(MemberRole)), name="member_role_known"
            ),
        )

    def __str__(self) -> str:
        return f"{self.user}, {self.role} of {self.customer}"
