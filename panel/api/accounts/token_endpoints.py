"""API tokens: list, create, replace, revoke. A token makes others with at most its own scopes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from panel.accounts import api_tokens
from panel.api import request_bodies
from panel.api.framework import described
from panel.api.framework.api_lists import Listing
from panel.api.framework.fields import Boolean, Choice, DateTime, Integer, List, Text, Texts
from panel.api.framework.problem import ApiProblem
from panel.api.framework.resource import Resource, truth
from panel.api.framework.shape import Shape, show
from panel.api.resource_json import person_ref
from panel.api.response_shapes import Json, PersonRef
from panel.models import ApiToken, Scope, User
from panel.models.api_token import covered_by
from storage.access import Right, may
from storage.database_clock import database_now
from storage.name_validators import demand_name

MOST_NETWORKS = 20
MAPPED_BITS = 96
"""Of an IPv6 address before the IPv4 address that it maps."""
MOST_OVERLAP_HOURS = 7 * 24


class TokenShape(Shape):
    """A token without its secret. `text` is the whole token, only in the answer that made it."""

    key = Text("Its name in the API; it never changes.")
    url = Text("Where the API shows it.")
    name = Text("Display name.")
    user = Text("E-mail address of whom it acts as.")
    person = PersonRef("Whom it acts as.")
    scopes = Texts("What the token may do.")
    networks = Texts("CIDR; empty: from anywhere.")
    made_by = Text(
        "Key of the token that made it, or that it follows; null: a person made it.", null=True
    )
    live = Boolean("False: it has expired or was revoked.")
    created_at = DateTime("When it was made.")
    expires_at = DateTime("When it ends.")
    revoked_at = DateTime("When it was revoked; null: it was not.", null=True)
    last_used_at = DateTime("When it was used last; null: never.", null=True)
    last_used_address = Text("IP address of its last use; null: none.", null=True)
    text = Text(
        "The whole token; only in the answer that made it, null in its replay.",
        required=False,
        null=True,
    )


class Networks(List):
    """Networks in CIDR notation; an address alone is a network of one."""

    def __init__(self, text: str, **options: Any) -> None:
        super().__init__(text, Text(max_length=43), **options)

    def to_internal_value(self, data: list[str]) -> list[str]:
        """Each as Python's ipaddress writes it; raises ValidationError."""
        networks = super().to_internal_value(data)
        try:
            return [str(_plain_network(each)) for each in networks]
        except ValueError as error:
            raise serializers.ValidationError(str(error), "no_network") from None


def _plain_network(text: str) -> IPv4Network | IPv6Network:
    """As addresses of requests are compared with it: without a zone, and IPv4 as such."""
    if "%" in text:
        raise ValueError(f"{text} names a zone, which is of one machine alone")
    network = ip_network(text, strict=False)
    if not isinstance(network, IPv6Network) or network.network_address.ipv4_mapped is None:
        return network
    inner = network.network_address.ipv4_mapped
    return IPv4Network((inner, network.prefixlen - MAPPED_BITS))


class TokenBody(request_bodies.Body):
    """A new token."""

    name = Text("Display name.", max_length=64, validators=[demand_name])
    scopes = List("What the token may do.", Choice("", Scope.values), min_length=1)
    days = Integer(
        "Days until it expires.",
        min_value=1,
        max_value=api_tokens.MAX_DAYS,
        default=api_tokens.DEFAULT_DAYS,
    )
    networks = Networks(
        "CIDR. Default: those of the token that makes it.",
        required=False,
        max_length=MOST_NETWORKS,
    )
    user = Text(
        "E-mail address of a service account, for admins. Default: oneself.",
        required=False,
        max_length=254,
    )


class RotateBody(request_bodies.Body):
    """How the new token follows the old one."""

    days = Integer(
        "Days until the new token expires.",
        min_value=1,
        max_value=api_tokens.MAX_DAYS,
        default=api_tokens.DEFAULT_DAYS,
    )
    overlap_hours = Integer(
        "How long both work.", min_value=0, max_value=MOST_OVERLAP_HOURS, default=24
    )


def token_json(token: ApiToken, text: str | None = None) -> Json:
    """A token, for `TokenShape`; `text` is the whole of one that was just made."""
    data: Json = {
        name: getattr(token, name)
        for name in (
            "key",
            "name",
            "scopes",
            "networks",
            "created_at",
            "expires_at",
            "revoked_at",
            "last_used_at",
        )
    }
    data |= {
        "url": reverse("api-token", args=[token.key]),
        "user": token.user.email,
        "person": person_ref(token.user),
        "made_by": token.made_by or None,
        "live": token.is_live(database_now()),
        "last_used_address": token.last_used_ip,
    }
    if text is not None:
        data["text"] = text
    return show(TokenShape, data)


MADE = described.query(
    "made",
    "`true`: the tokens that it made or that follow it, too, and those that these made.",
    enum=["true", "false"],
)


class Tokens(Resource):
    """One's own tokens; for admins those of all."""

    read_scope = Scope.PEOPLE_READ
    write_scope = Scope.TOKENS
    once_only = ("text",)
    listing: ClassVar = Listing(
        "tokens",
        TokenShape,
        newest_first=True,
        sorts={"name": "name", "expires_at": "expires_at"},
        searched=("name",),
        search_text="Part of the name.",
    )
    parameters: ClassVar = {"GET": (*listing.parameters, "user")}

    @extend_schema(
        operation_id="tokens_list",
        summary="List tokens",
        parameters=[*listing.described, described.query("user", "E-mail address of an account.")],
        responses={
            200: listing.page_shape("TokenPage"),
            **described.problems(400, 403),
        },
    )
    def get(self, request: Request) -> Response:
        """Newest first, also those that are revoked or expired."""
        rows = _tokens(self)
        if (user := request.query_params.get("user")) is not None:
            rows = rows.filter(user__email__iexact=user)
        return self.listing.answer(request, rows, lambda page: map(token_json, page))

    @extend_schema(
        operation_id="token_make",
        summary="Create a token",
        request=TokenBody,
        responses={201: TokenShape, **described.problems(400, 403, 409, 422)},
    )
    def post(self, request: Request) -> Response:
        """With at most the scopes of the token that asks, and no later end. A replay of this answer
        (Idempotency-Key) has no `text`."""
        values = request_bodies.read(request, TokenBody)
        owner = self._owner(values.pop("user", None))
        _demand_own_scopes(self, values["scopes"])
        _demand_own_networks(self, values)
        _demand_room(owner)
        return _made(
            *_issued(lambda: api_tokens.issue(owner, **values, by=self.user, maker=self.token))
        )

    def _owner(self, email: str | None) -> User:
        if email is None or email.lower() == self.user.email.lower():
            return self.user
        self.demand(Right.ADMINISTER)
        owner = User.objects.filter(email__iexact=email, is_service=True, is_active=True).first()
        if owner is None:
            raise _unfit("/user", "unknown", "No active service account has this address.")
        return owner


class OneToken(Resource):
    """One token."""

    read_scope = Scope.PEOPLE_READ
    write_scope = Scope.TOKENS
    measured = ("last_used_at", "last_used_address", "live")
    parameters: ClassVar = {"DELETE": ("forget", "made")}

    @extend_schema(
        operation_id="token",
        summary="Show a token",
        responses={200: TokenShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """Without its secret, which is kept nowhere."""
        return Response(token_json(get_object_or_404(_tokens(self), key=key)))

    @extend_schema(
        operation_id="token_revoke",
        summary="Revoke a token",
        parameters=[
            described.query(
                "forget",
                "`true`: it is not listed any more either. Jobs and logs keep its key.",
                enum=["true", "false"],
            ),
            MADE,
        ],
        responses={204: None, **described.problems(400, 403, 404)},
    )
    def delete(self, request: Request, key: str) -> Response:
        """The same as `POST …/end`: it stays in the list, unless `forget` is true."""
        token = get_object_or_404(_tokens(self), key=key)
        if truth(request, "made"):
            api_tokens.revoke_with_made(token, self.user)
        end = api_tokens.forget if truth(request, "forget") else api_tokens.revoke_token
        end(token, self.user)
        return Response(status=204)


class TokenEnd(Resource):
    """The end of a token before its time."""

    write_scope = Scope.TOKENS
    takes_no_body = True
    parameters: ClassVar = {"POST": ("made",)}

    @extend_schema(
        operation_id="token_end",
        summary="Revoke a token",
        request=None,
        parameters=[MADE],
        responses={200: TokenShape, **described.problems(400, 403, 404)},
    )
    def post(self, request: Request, key: str) -> Response:
        """It opens nothing from the next request on; it stays in the list. Tokens that it made go
        on, unless `made` is true; `made_by` in the list names them."""
        token = get_object_or_404(_tokens(self), key=key)
        end = api_tokens.revoke_with_made if truth(request, "made") else api_tokens.revoke_token
        end(token, self.user)
        return Response(token_json(get_object_or_404(_tokens(self), key=key)))


class TokenRotation(Resource):
    """A new token in the place of an old one."""

    write_scope = Scope.TOKENS
    once_only = ("text",)

    @extend_schema(
        operation_id="token_rotate",
        summary="Replace a token",
        request=RotateBody,
        responses={
            201: OpenApiResponse(TokenShape, "The new one; the old one ends with the overlap."),
            **described.problems(400, 403, 404, 409, 422),
        },
    )
    def post(self, request: Request, key: str) -> Response:
        """A token with the same name, scopes and networks, of one's own or of a service account.
        Both work for `overlap_hours`."""
        token = get_object_or_404(_tokens(self), key=key)
        if token.user != self.user and not token.user.is_service:
            raise ApiProblem(
                403, "forbidden", "It is another person's token.", "Revoke it, or ask that person."
            )
        values = request_bodies.read(request, RotateBody)
        if not token.is_live(database_now()):
            raise ApiProblem(409, "ended", "The token has ended.", "Make a new one.")
        _demand_own_scopes(self, token.scopes)
        _demand_own_networks(self, {"networks": token.networks})
        _demand_room(token.user)
        overlap = timedelta(hours=values["overlap_hours"])
        return _made(
            *_issued(
                lambda: api_tokens.rotate(token, days=values["days"], overlap=overlap, by=self.user)
            )
        )


def _tokens(view: Resource) -> QuerySet[ApiToken]:
    """Tokens have no row security, because they are read before anybody is known: so it is said
    twice whose they are."""
    rows = ApiToken.objects.all().visible_to(view.user).select_related("user")
    return rows if may(view.user, Right.ADMINISTER) else rows.filter(user=view.user)


def _demand_own_scopes(view: Resource, scopes: list[str]) -> None:
    """Nobody gets from a token what it cannot do itself."""
    own = covered_by(view.token.scopes) if view.token is not None else scopes
    beyond = sorted(set(scopes) - set(own))
    if beyond:
        raise _unfit("/scopes", "beyond_own", f"This token is not for {', '.join(beyond)}.")


def _demand_own_networks(view: Resource, values: Json) -> None:
    """A token that is bound to networks makes none that is free of them."""
    own = view.token.networks if view.token is not None else []
    given = values.setdefault("networks", own)
    if own and (not given or not all(_is_within(each, own) for each in given)):
        message = f"This token is bound to {', '.join(own)}."
        raise _unfit("/networks", "beyond_own", message)


def _is_within(network: str, others: list[str]) -> bool:
    inner = ip_network(network)
    return any(
        inner.subnet_of(outer)  # type: ignore[arg-type]  # of the same version
        for outer in map(ip_network, others)
        if inner.version == outer.version
    )


def _demand_room(owner: User) -> None:
    if ApiToken.objects.live().filter(user=owner).count() >= api_tokens.MAX_LIVE:
        raise ApiProblem(
            409, "too_many", f"{api_tokens.MAX_LIVE} tokens are live.", "Revoke one first."
        )


def _issued(issue: Callable[[], tuple[ApiToken, str]]) -> tuple[ApiToken, str]:
    try:
        return issue()
    except ValueError as error:
        raise _unfit("/scopes", "beyond_role", f"{error}.") from None


def _made(token: ApiToken, text: str) -> Response:
    data = token_json(token, text)
    return Response(data, status=201, headers={"Location": data["url"]})


def _unfit(pointer: str, code: str, message: str) -> ApiProblem:
    errors = [{"pointer": pointer, "code": code, "message": message}]
    return ApiProblem(422, "invalid", message, errors=errors)
