"""Invitations: how a person gets in, since nobody can sign up."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from storage.access import MemberRole, StaffRole
from storage.models import Customer


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self) -> Self:
        """Those that still let somebody in, by the database's clock."""
        return self.filter(used_at=None, expires_at__gt=Now())


class Invitation(models.Model):
    """A one-time link for `email`: to a staff role, or to a role in `customer`, or (with `user`)
    to a new password for somebody who is there. Only the digest of its token is kept."""

    digest = models.CharField(max_length=64, unique=True, editable=False)
    email = models.EmailField()
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+"
    )
    staff_role = models.CharField(
        max_length=9, blank=True, choices=[(role, role.label) for role in StaffRole]
    )
    customer = models.ForeignKey(
        Customer, null=True, on_delete=models.CASCADE, related_name="invitations"
    )
    member_role = models.CharField(
        max_length=8, blank=True, choices=[(role, role.value) for role in MemberRole]
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(staff_role__in=list(StaffRole), customer=None, member_role="")
                | models.Q(staff_role="", customer__isnull=False, member_role__in=list(MemberRole))
                | models.Q(staff_role="", customer=None, member_role="", user__isnull=False),
                name="invitation_to_one_place",
            ),
        )

    def __str__(self) -> str:
        return f"{self.email}, {self.what}"

    @property
    def what(self) -> str:
        """What the person will be."""
        if self.customer is not None:
            return f"{self.member_role} of {self.customer}"
        return f"staff, {self.get_staff_role_display()}" if self.staff_role else "a new password"
