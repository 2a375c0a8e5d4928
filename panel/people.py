"""Records of people: the one way in, because sign-up is closed."""

from allauth.account.models import EmailAddress
from django.db import transaction

from panel.models import User


@transaction.atomic
def add(*, email: str, password: str, name: str = "", staff_role: str = "") -> User:
    """Store a person whose e-mail address counts as verified, since we were told it."""
    user = User.objects.create_user(email, password, name=name, staff_role=staff_role)
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return user
