"""The fields of signed calls."""

from __future__ import annotations

from rest_framework import serializers

from panel.api.request_bodies import Body, ZonedDateTimeField
from panel.api.response_shapes import Json
from panel.billing.answer import MAX_REASON


def one_of(attrs: Json, *names: str) -> Json:
    """The same, once exactly one of the names is given."""
    if sum(bool(attrs.get(name)) for name in names) != 1:
        error = serializers.ErrorDetail(f"Give one of {', '.join(names)}.", "required")
        raise serializers.ValidationError({names[0]: error})
    return attrs


class CallBody(Body):
    """What every call may say. The signature covers the body and not the address: `call` names the
    call that is meant, so that a captured body is of no use for another call."""

    call = serializers.CharField(
        required=False,
        max_length=32,
        help_text="The name of the call, as in its address: refused at any other.",
    )


class OfCustomer(CallBody):
    """A customer, by the billing system's name or by key."""

    customer_external_id = serializers.CharField(required=False, max_length=64)
    customer = serializers.CharField(required=False)

    def validate(self, attrs: Json) -> Json:
        """One name of the customer."""
        return one_of(attrs, "customer_external_id", "customer")


class OfVolume(CallBody):
    """A volume, by the billing system's name or by key."""

    volume_external_id = serializers.CharField(required=False, max_length=64)
    volume = serializers.CharField(required=False)

    def validate(self, attrs: Json) -> Json:
        """One name of the volume."""
        return one_of(attrs, "volume_external_id", "volume")


class MandateBody(Body):
    """What the customer lets you charge, in minor units; null is unknown, and nothing is charged
    against what is unknown."""

    currency = serializers.RegexField("^[A-Z]{3}$")
    cap_charge_minor = serializers.IntegerField(min_value=0, allow_null=True, required=False)
    cap_period_minor = serializers.IntegerField(min_value=0, allow_null=True, required=False)
    earliest_next_at = ZonedDateTimeField(allow_null=True, required=False)


class CreateCustomerBody(CallBody):
    """A customer and, with `email`, its owner; `external_id` is your name for it."""

    external_id = serializers.CharField(max_length=64)
    name = serializers.CharField(max_length=200)
    email = serializers.EmailField(
        required=False, help_text="E-mail address of the owner; left out: no account is made."
    )
    person_name = serializers.CharField(
        max_length=150, required=False, allow_blank=True, help_text="The owner's name."
    )
    mandate = MandateBody(required=False)


class SetMandateBody(OfCustomer):
    """The mandate as it is now, whole."""

    mandate = MandateBody()


class BindVolumeBody(OfCustomer):
    """The volume `volume` (key) becomes the customer's; `volume_external_id` is your name for it,
    or, without the key, the name it has already."""

    volume = serializers.CharField(required=False)
    volume_external_id = serializers.CharField(required=False, max_length=64)

    def validate(self, attrs: Json) -> Json:
        """A customer, and at least one name of the volume."""
        if not (attrs.get("volume") or attrs.get("volume_external_id")):
            error = serializers.ErrorDetail("Give volume or volume_external_id.", "required")
            raise serializers.ValidationError({"volume": error})
        return super().validate(attrs)


class ChangePlanBody(OfVolume):
    """Another plan for a volume, by key or name; null is no cache."""

    plan = serializers.CharField(
        allow_null=True, help_text="Key or name of the plan; null: no cache."
    )
    when = serializers.ChoiceField(
        choices=["now", "period_end"],
        required=False,
        help_text="Default: a lower price begins with the next period, everything else now.",
    )
    price_minor = serializers.IntegerField(
        min_value=0,
        required=False,
        help_text="The monthly price you showed. Refused if the price is different now.",
    )
    currency = serializers.RegexField("^[A-Z]{3}$", required=False)

    def validate(self, attrs: Json) -> Json:
        """A price has a currency."""
        if ("price_minor" in attrs) != ("currency" in attrs):
            error = serializers.ErrorDetail("Give price_minor and currency, or none.", "required")
            raise serializers.ValidationError({"currency": error})
        return super().validate(attrs)


class TerminateBody(CallBody):
    """All volumes of a customer, or one volume."""

    customer_external_id = serializers.CharField(required=False, max_length=64)
    customer = serializers.CharField(required=False)
    volume_external_id = serializers.CharField(required=False, max_length=64)
    volume = serializers.CharField(required=False)

    def validate(self, attrs: Json) -> Json:
        """One name in all."""
        return one_of(attrs, "volume_external_id", "volume", "customer_external_id", "customer")


class LoginLinkBody(OfCustomer):
    """A link for one of the customer's people (the first owner without `email`), to the plans of
    `volume` (key) or `volume_external_id`, else to the list of volumes."""

    email = serializers.EmailField(
        required=False, help_text="Who signs in; left out: the first owner."
    )
    volume = serializers.CharField(required=False)
    volume_external_id = serializers.CharField(required=False, max_length=64)
    seconds = serializers.IntegerField(
        min_value=10, max_value=600, default=60, help_text="How long the link works."
    )


class UsageLinesBody(OfCustomer):
    """The lines of a customer in a month such as 2026-11."""

    month = serializers.RegexField(
        "^20[0-9]{2}-(0[1-9]|1[0-2])$", help_text="Year and month (UTC), such as 2026-11."
    )


class DecideOrderBody(CallBody):
    """The answer to an `order.authorise` that was answered with pending."""

    made_plain = ("reason",)

    order = serializers.CharField(help_text="Key of the order.")
    decision = serializers.ChoiceField(
        choices=["approve", "refuse"], help_text="approve carries the order out, refuse ends it."
    )
    reason = serializers.CharField(
        required=False, allow_blank=True, max_length=4 * MAX_REASON, help_text="Why it is refused."
    )


class StatusBody(CallBody):
    """How an order or a job is getting on."""

    order = serializers.CharField(required=False, help_text="Key of the order.")
    job = serializers.CharField(required=False, help_text="Key of the job.")

    def validate(self, attrs: Json) -> Json:
        """One of both."""
        return one_of(attrs, "order", "job")
