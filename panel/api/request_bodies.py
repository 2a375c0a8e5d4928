"""The bodies of requests. Unknown fields are errors: a misspelt one would be silently ignored.

Rules about values are the model's, checked by `Model.full_clean` for pages and API alike.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, ClassVar, Final

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Model
from django.utils import timezone
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.request import Request

from panel.api.framework.problem import ApiProblem, flat
from panel.api.resource_json import url_of
from panel.api.response_shapes import LIVES, MODES, Json, WithSettings
from panel.charts.time_range import RFC_3339
from storage.access import Person
from storage.metrics.close_watch import LONGEST
from storage.models import Customer, Host, Volume
from storage.naming import text_fault
from storage.planner.technologies.technology import Setting, Technology
from storage.planner.wish import LAYOUTS, MAX_BYTES

AS_SOON_AS_ALLOWED: Final = "as_soon_as_allowed"
WHENS: Final = ["now", AS_SOON_AS_ALLOWED]
TAKEN: Final = "external_id_taken"
"""Code of the models' errors where another row has the external id."""
# DRF's fields would make a text of a number, a number of a text, and true of 1, "yes" and "on".
TYPES: Final[tuple[tuple[type[serializers.Field[Any, Any, Any, Any]], type, str, str], ...]] = (
    (serializers.CharField, str, "not_a_string", "A text, in quotes."),
    (serializers.IntegerField, int, "not_an_integer", "A whole number, without quotes."),
    (serializers.BooleanField, bool, "not_a_boolean", "true or false, without quotes."),
)


class Body(serializers.Serializer[Json]):
    """A JSON object of these fields and no other, of the types that they say. Each text is one line
    that shows as it stands: texts reach logs, mails and terminals. Those of `made_plain` become one
    where they are used."""

    made_plain: ClassVar[Collection[str]] = ()

    def to_internal_value(self, data: Any) -> Any:
        """The values; raises ValidationError for whatever is not asked for."""
        if isinstance(data, dict) and (errors := self._misfits(data) | self._missing(data)):
            raise serializers.ValidationError(errors)
        return super().to_internal_value(data)

    def _missing(self, data: Json) -> Json:
        """An object within a body is whole, also where the body itself changes some fields alone
        (`partial`, which DRF takes from the outermost one)."""
        if self.parent is None:
            return {}
        return {
            name: serializers.ErrorDetail("This field is required.", "required")
            for name, field in self.fields.items()
            if field.required and name not in data
        }

    def _misfits(self, data: Json) -> Json:
        errors: Json = {}
        for name, value in data.items():
            field = self.fields.get(name)
            if field is None:
                errors[name] = serializers.ErrorDetail("There is no such field.", "unknown_field")
            elif misfit := _misfit(field, value, is_plain=name not in self.made_plain):
                errors[name] = misfit
        return errors


class WholeBody(Body):
    """The same fields for PUT, which replaces all: each must be given, so that none falls back to a
    default that the sender never saw."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """All of them, required."""
        fields = super().get_fields()
        for field in fields.values():
            field.required, field.default = True, empty
        return fields


def _misfit(
    field: serializers.Field[Any, Any, Any, Any], value: Any, *, is_plain: bool
) -> serializers.ErrorDetail | dict[int, Any] | None:
    """What is wrong with the type of a value or with its text, or with those in a list, by their
    places."""
    if isinstance(field, serializers.ListField) and isinstance(value, list):
        parts = {n: _misfit(field.child, part, is_plain=is_plain) for n, part in enumerate(value)}
        return {n: misfit for n, misfit in parts.items() if misfit} or None
    for of, kind, code, message in TYPES:
        if isinstance(field, of) and value is not None and type(value) is not kind:
            return serializers.ErrorDetail(message, code)
    if is_plain and isinstance(value, str) and (fault := text_fault(value)) is not None:
        return serializers.ErrorDetail(fault.message, fault.code)
    return None


class ZonedDateTimeField(serializers.DateTimeField):
    """An RFC 3339 time. One without a time zone is refused: whose midnight it means, nobody
    knows."""

    default_error_messages: ClassVar = {"no_zone": "Write the time zone: 2026-11-21T08:00:00Z."}

    def to_internal_value(self, value: Any) -> datetime:
        """Python reads more than RFC 3339, such as days of weeks."""
        at: datetime = super().to_internal_value(value)
        if isinstance(value, str) and RFC_3339.fullmatch(value) is None:
            self.fail("invalid", format="2026-11-21T08:00:00Z")
        return at

    def enforce_timezone(self, value: datetime) -> datetime:
        if timezone.is_naive(value):
            self.fail("no_zone")
        return super().enforce_timezone(value)


class WishCache(Body, WithSettings):
    """The wished-for cache."""

    size_bytes = serializers.IntegerField(
        min_value=1, help_text="Rounded up to whole extents of the volume group."
    )
    mode = serializers.ChoiceField(
        choices=MODES,
        required=False,
        help_text="Default: the mode of the current cache, or writethrough for a first cache. "
        "writearound is available only with bcache.",
    )

    def field_of(self, technology: Technology, setting: Setting) -> serializers.IntegerField:
        help_text = f"{technology.name}: {setting.summary}"
        return serializers.IntegerField(required=False, min_value=0, help_text=help_text)


class WishBody(Body):
    """What the volume should be; what is left out stays. `cache` null is none."""

    cache = WishCache(allow_null=True, required=False)
    size_bytes = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_BYTES,
        help_text="The size the guest sees, rounded up to whole extents. It can only grow.",
    )
    tier = serializers.ChoiceField(
        choices=["hdd", "ssd"],
        required=False,
        help_text="The disks that hold the volume. A volume on SSD has no cache.",
    )
    flushed = serializers.BooleanField(
        default=False, help_text="Writes dirty data in the cache to the HDD, once."
    )
    life = serializers.ChoiceField(
        choices=LIVES,
        required=False,
        help_text="Without other fields. retired switches the volume off and keeps its data, live "
        "restores "
        "a retired volume, gone wipes and removes the volume for good.",
    )
    confirm_label = serializers.CharField(
        required=False, help_text="Required with life gone: the label of the volume."
    )
    when = serializers.ChoiceField(
        choices=WHENS,
        default="now",
        help_text="With life gone. as_soon_as_allowed: the job waits until the host no longer has "
        "to keep the volume; cancel it to keep the volume after all.",
    )
    managed = serializers.BooleanField(
        required=False,
        help_text="Without other fields, always true: Tiercel manages a volume it has found.",
    )

    def validate(self, attrs: Json) -> Json:
        """One thing at a time: the life of a volume, its management, or its shape."""
        shape = set(attrs) - {"life", "confirm_label", "flushed", "managed", "when"}
        if attrs["when"] != "now" and attrs.get("life") != "gone":
            raise serializers.ValidationError({"when": "Only with life gone."}, "not_alone")
        alone = [name for name in ("life", "managed") if name in attrs]
        if alone and (shape or attrs["flushed"] or len(alone) > 1):
            raise serializers.ValidationError({alone[0]: "Ask for this alone."}, "not_alone")
        if not attrs.get("managed", True):
            message = "A volume under management stays there until it is destroyed."
            raise serializers.ValidationError({"managed": message}, "unsupported")
        if not alone and not shape:
            error = serializers.ErrorDetail("This field is required.", "required")
            raise serializers.ValidationError({"cache": error})
        return attrs


class NewVolumeBody(Body):
    """A volume that does not exist yet."""

    label = serializers.CharField(max_length=200)  # type: ignore[assignment]  # a field, no attribute
    host = serializers.CharField(help_text="Key of the host.")
    vg = serializers.CharField(
        help_text="A volume group of the host that root allows Tiercel to change."
    )
    size_bytes = serializers.IntegerField(
        min_value=1, max_value=MAX_BYTES, help_text="Rounded up to whole extents."
    )
    tier = serializers.ChoiceField(
        choices=["hdd", "ssd"], default="hdd", help_text="The disks that hold it."
    )
    layout = serializers.ChoiceField(
        choices=LAYOUTS,
        default="plain",
        help_text="Cannot be changed later. plain can have an lvmcache; bcache is formatted for a "
        "bcache.",
    )
    customer = serializers.CharField(
        allow_null=True, default=None, help_text="Key of the customer. Null: no customer."
    )
    external_id = serializers.CharField(allow_blank=True, default="", max_length=64)


class VolumeBody(Body):
    """The books of a volume; nothing of it reaches the host."""

    label = serializers.CharField(required=False, max_length=200)  # type: ignore[assignment]  # a field, no attribute
    customer = serializers.CharField(
        required=False, allow_null=True, help_text="Key of the customer. Null: no customer."
    )
    external_id = serializers.CharField(required=False, allow_blank=True, max_length=64)


class WatchBody(Body):
    """How long to watch a volume closely."""

    minutes = serializers.IntegerField(
        required=False,
        default=60,
        min_value=1,
        max_value=int(LONGEST.total_seconds() // 60),
        help_text="From now on.",
    )


class CustomerBody(Body):
    """A customer."""

    name = serializers.CharField(max_length=200)
    external_id = serializers.CharField(required=False, allow_blank=True, max_length=64)


class CachePlanBody(Body):
    """A cache plan: `size_bytes` or `ratio_percent`, not both."""

    name = serializers.CharField(max_length=64)
    description = serializers.CharField(required=False, allow_blank=True)
    size_bytes = serializers.IntegerField(required=False, allow_null=True, min_value=1)
    ratio_percent = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=100
    )
    mode = serializers.ChoiceField(
        choices=["writethrough", "writeback"], required=False, help_text="What becomes of writes."
    )
    price_minor = serializers.IntegerField(
        min_value=0, help_text="The monthly price in minor units (cents) of the currency."
    )
    currency = serializers.CharField(max_length=3, help_text="ISO 4217, such as EUR.")
    on_offer = serializers.BooleanField(required=False)
    hosts = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Keys of the hosts that offer the plan. Empty: every host.",
    )


def read(request: Request, body: type[Body], *, partial: bool = False) -> Json:
    """The valid values of a request's body; raises DRF's errors. A change (`partial`) changes
    something: one without a field is one whose body was lost on the way."""
    if partial and not request.data:
        raise serializers.ValidationError(serializers.ErrorDetail("Say what to change.", "empty"))
    given = body(data=request.data, partial=partial)
    given.is_valid(raise_exception=True)
    values: Json = given.validated_data
    return values


def save(instance: Model, values: Json, *, fields: Collection[str] | None = None) -> None:
    """Write these attributes as far as the model allows, only the named `fields` of a row that
    others write too; raises `ApiProblem`."""
    for name, value in values.items():
        setattr(instance, name, value)
    check_instance(instance)
    try:
        with transaction.atomic():
            instance.save(update_fields=fields)
    except IntegrityError:
        # Another request was first, after the check: what it left says why.
        check_instance(instance)
        raise


def check_instance(instance: Model) -> None:
    """Raises `ApiProblem` for what the model does not allow."""
    try:
        instance.full_clean()
    except ValidationError as error:
        problem = unprocessable(error)
        if isinstance(instance, Customer | Volume) and any(
            each["code"] == TAKEN for each in problem.errors
        ):
            problem = taken(instance)
        raise problem from None


def taken(instance: Customer | Volume) -> ApiProblem:
    """The one case that a program which repeats itself has to recognise."""
    other: Customer | Volume
    if isinstance(instance, Volume):
        other = Volume.objects.get(external_id=instance.external_id, previewed_at=None)
    else:
        other = Customer.objects.get(external_id=instance.external_id)
    noun = instance._meta.verbose_name
    route = "api-volume" if isinstance(other, Volume) else "api-customer"
    return ApiProblem(
        409,
        TAKEN,
        f"Another {noun} has this external id: {other.key}.",
        f"Use that {noun}, or another external id.",
        errors=[{"pointer": "/external_id", "code": TAKEN, "message": "It belongs to one only."}],
        existing={"key": other.key, "url": url_of(route, other.key), "name": str(other)},
    )


def unprocessable(error: ValidationError, under: str = "") -> ApiProblem:
    """Django's errors, as a form or a model says them; `under` is the pointer to what is wrong."""
    parts = error.error_dict if hasattr(error, "error_dict") else {"__all__": error.error_list}
    errors = [
        {
            "pointer": under if name == "__all__" else f"{under}/{name}",
            "code": each.code or "invalid",
            "message": " ".join(each.messages),
        }
        for name, field_errors in parts.items()
        for each in field_errors
    ]
    return ApiProblem(422, "invalid", "The request has errors.", errors=errors)


def unfit(name: str, message: str) -> ApiProblem:
    """The refusal of one field's value."""
    return unprocessable(ValidationError({name: message}))


def customer_of(key: str | None, user: Person) -> Customer | None:
    """The customer of a body's `customer`; raises `ApiProblem`."""
    if key is None:
        return None
    customer = Customer.objects.visible_to(user).filter(key=key).first()
    if customer is None:
        raise _unknown("/customer", "There is no such customer.")
    return customer


def hosts_of(keys: list[str], user: Person) -> list[Host]:
    """The hosts of a body's `hosts`; raises `ApiProblem`."""
    hosts = list(Host.objects.visible_to(user).without_inventory().filter(key__in=keys))
    if len(hosts) != len(set(keys)):
        raise _unknown("/hosts", "There is no such host.")
    return hosts


def _unknown(pointer: str, message: str) -> ApiProblem:
    errors = list(flat([serializers.ErrorDetail(message, "unknown")], pointer))
    return ApiProblem(422, "invalid", "The request has errors.", errors=errors)
