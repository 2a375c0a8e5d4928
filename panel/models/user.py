"""People of the panel. They sign in with their e-mail address."""

from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone

from storage.access import Person, Right, StaffRole, may


class UserManager(BaseUserManager["User"]):
    """Makes users. `panel.accounts.people.add` also marks their e-mail address as verified."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Store a user; without a password nobody can sign in as them."""
        if not email:
            raise ValueError("a user needs an e-mail address")
        user = self.model(email=self.normalize_email(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Store a user with every right (Django's `createsuperuser` calls this)."""
        return self.create_user(
            email, password, **fields, staff_role=StaffRole.ADMIN, is_superuser=True
        )

    def visible_to(self, user: Person) -> models.QuerySet["User"]:
        """The only way from a request to people: admins see all, others themselves."""
        if may(user, Right.ADMINISTER):
            return self.all()
        return self.filter(pk=user.pk) if user.pk is not None else self.none()


class User(AbstractBaseUser, PermissionsMixin):
    """A person: staff of the provider, or (without a staff role) somebody of a customer."""

    email = models.EmailField(unique=True)
    name = models.CharField(max_length=150, blank=True)
    staff_role = models.CharField(
        max_length=9, blank=True, choices=[(role, role.label) for role in StaffRole]
    )
    is_active = models.BooleanField(default=True)
    date_joined = models.DateTimeField(default=timezone.now)

    objects: ClassVar[UserManager] = UserManager()

    EMAIL_FIELD = "email"
    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints: ClassVar = [
            # normalize_email lowers only the domain, so Ann@x and ann@x would be two people.
            models.UniqueConstraint(Lower("email"), name="user_email_any_case_unique"),
            models.CheckConstraint(
                condition=models.Q(staff_role__in=["", *StaffRole]), name="user_staff_role_known"
            ),
        ]

    def __str__(self) -> str:
        return self.email

    @property
    def is_staff(self) -> bool:
        """Whether they belong to the provider."""
        return self.staff_role != ""

    def get_full_name(self) -> str:
        """What pages call this person."""
        return self.name or self.email

    def get_short_name(self) -> str:
        """The same in little room."""
        return self.name.split(" ")[0] if self.name else self.email
