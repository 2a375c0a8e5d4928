"""The bodies of requests. Unknown fields are errors: a misspelt one would be silently ignored.

Rules about values are the model's, checked by `Model.full_clean` for pages and API alike.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar, Final

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Model
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.request import Request

from panel.api.framework.fields import AnyField, Lines, Nested
from panel.api.framework.problem import ApiProblem, unprocessable
from panel.api.framework.refs import url_of
from panel.api.framework.shape import Json, Shape
from storage.models import Customer, Volume
from storage.naming import lines_fault, text_fault

TAKEN: Final = "external_id_taken"
"""Code of the models' errors where another row has the external id."""
# DRF's fields would make a text of a number, a number of a text, and true of 1, "yes" and "on".
TYPES: Final[tuple[tuple[type[AnyField], tuple[type, ...], str, str], ...]] = (
    (serializers.CharField, (str,), "not_a_string", "A text, in quotes."),
    (serializers.IntegerField, (int,), "not_an_integer", "A whole number, without quotes."),
    (serializers.FloatField, (float, int), "not_a_number", "A number, without quotes."),
    (serializers.BooleanField, (bool,), "not_a_boolean", "true or false, without quotes."),
)


class Body(Nested, serializers.Serializer[Json]):
    """A JSON object of these fields and no other, of the types that they say. Each text shows
    as it stands, and but for `Lines` is one line: texts reach logs, mails and terminals. Those of
    `made_plain` become one where they are used. What a body changes is often what an answer
    `shows`: a field without a text means what the field of that name means there."""

    made_plain: ClassVar[Collection[str]] = ()
    shows: ClassVar[type[Shape] | None] = None

    def get_fields(self) -> dict[str, AnyField]:
        """The fields, each with its text."""
        fields = super().get_fields()
        shown = self.shows().fields if self.shows is not None else {}
        for name, field in fields.items():
            if not field.help_text and name in shown:
                field.help_text = shown[name].help_text
        return fields

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

    def get_fields(self) -> dict[str, AnyField]:
        """All of them, required."""
        fields = super().get_fields()
        for field in fields.values():
            field.required, field.default = True, empty
        return fields


def _misfit(
    field: AnyField, value: Any, *, is_plain: bool
) -> serializers.ErrorDetail | dict[int, Any] | None:
    """What is wrong with the type of a value or with its text, or with those in a list, by their
    places."""
    if isinstance(field, serializers.ListField) and isinstance(value, list):
        parts = {n: _misfit(field.child, part, is_plain=is_plain) for n, part in enumerate(value)}
        return {n: misfit for n, misfit in parts.items() if misfit} or None
    for of, kinds, code, message in TYPES:
        if isinstance(field, of) and value is not None and type(value) not in kinds:
            return serializers.ErrorDetail(message, code)
    fault_of = lines_fault if isinstance(field, Lines) else text_fault
    if is_plain and isinstance(value, str) and (fault := fault_of(value)) is not None:
        return serializers.ErrorDetail(fault.message, fault.code)
    return None


def read(request: Request, body: type[Body], *, partial: bool = False) -> Json:
    """The valid values of a request's body; raises DRF's errors. A change (`partial`) changes
    something: one without a field is one whose body was lost on the way."""
    if partial and not request.data:
        raise serializers.ValidationError(serializers.ErrorDetail("No change given.", "empty"))
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
            each["code"] == TAKEN for each in problem.members.get("errors", ())
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
    return ApiProblem(
        409,
        TAKEN,
        f"Another {noun} has this external id: {other.key}.",
        f"Use that {noun}, or another external id.",
        errors=[{"pointer": "/external_id", "code": TAKEN, "message": "It must be unique."}],
        existing={"key": other.key, "url": url_of(other), "name": str(other)},
    )


def unfit(name: str, message: str, code: str = "invalid") -> ApiProblem:
    """The refusal of one field's value."""
    return unprocessable(ValidationError({name: ValidationError(message, code)}))
