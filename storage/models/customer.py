"""Who a volume belongs to."""

from __future__ import annotations

from typing import Self

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import models

from storage.access import is_staff
from storage.naming import new_key


class CustomerQuerySet(models.QuerySet["Customer"]):
    def visible_to(self, user: AbstractBaseUser | AnonymousUser) -> Self:
        """The only way from a request to customers."""
        return self if is_staff(user) else self.none()


class Customer(models.Model):
    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = CustomerQuerySet.as_manager()

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name
