"""Who may see rows at all. Every queryset's `visible_to(user)` asks here."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser


def is_staff(user: AbstractBaseUser | AnonymousUser) -> bool:
    """True for people of the provider, who see every host and volume."""
    return bool(user.is_active and getattr(user, "is_staff", False))
