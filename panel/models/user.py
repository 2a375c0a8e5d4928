"""People of the panel, who sign in with their e-mail address, and what lets them in: invitations,
one-time links, codes by mail."""

from typing import Any, ClassVar, Self

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models.functions import Lower, Now
from django.utils import timezone

from storage.access import MemberRole, Person, Right, StaffRole, may
from storage.models import Customer
from storage.name_validators import demand_name
from storage.naming import new_key


class UserManager(BaseUserManager["User"]):
    """Makes users. `panel.accounts.people.add` also marks their e-mail address as verified."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Store a user; without a password they cannot sign in."""
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
    """A person: staff of the provider, or (without a staff role) a member of a customer.
    `tour_step` is the step of the tour that they are at (`panel.help.tour`); 0 is none. With
    `is_service` it is a program: it has tokens, cannot sign in, and receives no mail."""

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
    email = models.EmailField(unique=True)
    name = models.CharField(max_length=150, blank=True, validators=[demand_name])
    staff_role = models.CharField(
        max_length=9, blank=True, choices=[(role, role.label) for role in StaffRole]
    )
    # Of the pages and e-mails of a customer's person; "" until a sign-in says.
    language = models.CharField(max_length=8, blank=True, default="", db_default="")
    is_active = models.BooleanField(default=True)
    date_joined = models.DateTimeField(default=timezone.now)
    tour_step = models.PositiveSmallIntegerField(default=0, db_default=0)
    is_service = models.BooleanField(default=False, db_default=False)

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


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self) -> Self:
        """Those that are still valid, by the database's clock."""
        return self.filter(used_at=None, expires_at__gt=Now())


class Invitation(models.Model):
    """A one-time link for `email`: to a staff role, or to a role in `customer`, or (with `user`)
    to a new password for an existing account. Only the digest of its token is kept."""

    key = models.CharField(max_length=26, unique=True, default=new_key, editable=False)
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


class LoginLinkQuerySet(models.QuerySet["LoginLink"]):
    def open(self) -> Self:
        """Those that are still valid, by the database's clock."""
        customers = self.filter(user__is_active=True, user__staff_role="")
        return customers.filter(used_at=None, expires_at__gt=Now())


class LoginLink(models.Model):
    """Signs `user` in once and leads to `next_path`. Only the digest of its token is kept."""

    digest = models.CharField(max_length=64, unique=True, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    next_path = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    objects = LoginLinkQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"login link for {self.user}"


TRIES = 5


class StepUpCodeQuerySet(models.QuerySet["StepUpCode"]):
    def open(self) -> Self:
        """Those that still prove something, by the database's clock."""
        return self.filter(used_at=None, tries__lt=TRIES, expires_at__gt=Now())


class StepUpCode(models.Model):
    """Only a keyed digest is kept: six digits are soon guessed from a plain one. `tries` counts
    what was typed, right or wrong."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64, editable=False)
    tries = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    objects = StepUpCodeQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"code for {self.user}"
