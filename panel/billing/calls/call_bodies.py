"""The fields of signed calls."""

from __future__ import annotations

from rest_framework import serializers

from panel.api.framework.bodies import Body
from panel.api.framework.fields import Choice, DateTime, Email, Integer, Pattern, Text
from panel.api.framework.shape import Json
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

    call = Text(
        "The name of the call, as in its address; refused at another address.",
        required=False,
        max_length=32,
    )


class OfCustomer(CallBody):
    """A customer, by the billing system's name or by key."""

    customer_external_id = Text(
        "The customer, by its name in your systems.", required=False, max_length=64
    )
    customer = Text("The customer.", required=False)

    def validate(self, attrs: Json) -> Json:
        """One name of the customer."""
        return one_of(attrs, "customer_external_id", "customer")


class OfVolume(CallBody):
    """A volume, by the billing system's name or by key."""

    volume_external_id = Text(
        "The volume, by its name in your systems.", required=False, max_length=64
    )
    volume = Text("The volume.", required=False)

    def validate(self, attrs: Json) -> Json:
        """One name of the volume."""
        return one_of(attrs, "volume_external_id", "volume")


class MandateBody(Body):
    """The limits for charging the customer, in minor units; null is unknown, and nothing is charged
    then."""

    currency = Pattern("ISO 4217, such as EUR.", "^[A-Z]{3}$")
    cap_charge_minor = Integer(
        "Maximum for one charge, in minor units; null: unknown.",
        min_value=0,
        null=True,
        required=False,
    )
    cap_period_minor = Integer(
        "Maximum for a calendar month (UTC), in minor units; null: unknown.",
        min_value=0,
        null=True,
        required=False,
    )
    earliest_next_at = DateTime(
        "Nothing may be charged before this time; null: unknown.", null=True, required=False
    )


class CreateCustomerBody(CallBody):
    """A customer and, with `email`, its owner; `external_id` is your name for it."""

    external_id = Text("Its name in your systems; empty if it has none.", max_length=64)
    name = Text("Display name.", max_length=200)
    email = Email("E-mail address of the owner; omitted: no account is created.", required=False)
    person_name = Text("The owner's name.", max_length=150, required=False, allow_blank=True)
    mandate = MandateBody("The limits for charging the customer.", required=False)


class SetMandateBody(OfCustomer):
    """The whole current mandate."""

    mandate = MandateBody("The limits for charging the customer.")


class BindVolumeBody(OfCustomer):
    """Assigns the volume `volume` (key) to the customer. `volume_external_id` becomes your name for
    it or, without the key, finds the volume."""

    volume = Text("The volume.", required=False)
    volume_external_id = Text(
        "The volume, by its name in your systems.", required=False, max_length=64
    )

    def validate(self, attrs: Json) -> Json:
        """A customer, and at least one name of the volume."""
        if not (attrs.get("volume") or attrs.get("volume_external_id")):
            error = serializers.ErrorDetail("Give volume or volume_external_id.", "required")
            raise serializers.ValidationError({"volume": error})
        return super().validate(attrs)


class ChangePlanBody(OfVolume):
    """Another plan for a volume, by key or name; null means no cache."""

    plan = Text("Key or name of the plan; null: no cache.", null=True)
    when = Choice(
        "Default: a lower price starts with the next period, everything else at once.",
        ["now", "period_end"],
        required=False,
    )
    price_minor = Integer(
        "The monthly price you showed. Refused if the price is different now.",
        min_value=0,
        required=False,
    )
    currency = Pattern("ISO 4217, such as EUR.", "^[A-Z]{3}$", required=False)

    def validate(self, attrs: Json) -> Json:
        """A price has a currency."""
        if ("price_minor" in attrs) != ("currency" in attrs):
            error = serializers.ErrorDetail(
                "Give both price_minor and currency, or neither.", "required"
            )
            raise serializers.ValidationError({"currency": error})
        return super().validate(attrs)


class TerminateBody(CallBody):
    """All volumes of a customer, or one volume."""

    customer_external_id = Text(
        "The customer, by its name in your systems.", required=False, max_length=64
    )
    customer = Text("The customer.", required=False)
    volume_external_id = Text(
        "The volume, by its name in your systems.", required=False, max_length=64
    )
    volume = Text("The volume.", required=False)

    def validate(self, attrs: Json) -> Json:
        """One name in all."""
        return one_of(attrs, "volume_external_id", "volume", "customer_external_id", "customer")


class LoginLinkBody(OfCustomer):
    """A link for one of the customer's people (the first owner without `email`), to the plans of
    `volume` (key) or `volume_external_id`, else to the list of volumes."""

    email = Email("The person who signs in; omitted: the first owner.", required=False)
    volume = Text("The volume.", required=False)
    volume_external_id = Text(
        "The volume, by its name in your systems.", required=False, max_length=64
    )
    seconds = Integer("How long the link works.", min_value=10, max_value=600, default=60)


class UsageLinesBody(OfCustomer):
    """The lines of a customer in a month such as 2026-11."""

    month = Pattern("Year and month (UTC), such as 2026-11.", "^20[0-9]{2}-(0[1-9]|1[0-2])$")


class DecideOrderBody(CallBody):
    """The answer to an `order.authorise` that was answered with pending."""

    made_plain = ("reason",)

    order = Text("Key of the order.")
    decision = Choice("approve carries out the order, refuse ends it.", ["approve", "refuse"])
    reason = Text("Why it is refused.", required=False, allow_blank=True, max_length=4 * MAX_REASON)


class StatusBody(CallBody):
    """The state of an order or a job."""

    order = Text("Key of the order.", required=False)
    job = Text("Key of the job.", required=False)

    def validate(self, attrs: Json) -> Json:
        """One of both."""
        return one_of(attrs, "order", "job")
