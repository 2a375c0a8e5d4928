"""API tokens: list, create, replace, revoke. A token makes others with at most its own scopes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from panel.accounts import api_tokens
from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import operation
from panel.api.framework.bodies import Body, unfit
from panel.api.framework.fields import Boolean, Choice, DateTime, Integer, List, Text, Texts
from panel.api.framework.parameters import Parameter, Truth
from panel.api.framework.problem import ApiProblem
from panel.api.framework.refs import Noun, PersonRef
from panel.api.framework.resource import Resource
from panel.models import ApiToken, Scope, User
from panel.models.api_token import covered_by
from storage.access import Right, may
from storage.database_clock import database_now
from storage.name_validators import demand_name

MOST_NETWORKS = 20
MAPPED_BITS = 96
"""Of an IPv6 address before the IPv4 address that it maps."""
MOST_OVERLAP_HOURS = 7 * 24


class TokenShape(Noun):
    """A token without its secret. `text` is the whole token, only in the answer that created it."""

    name = Text("Display name.")
    user = Text("E-mail address of the account that it acts as.", of="user.email")
    person = PersonRef("The account that it acts as.", of="user")
    scopes = Texts("What the token may do.")
    networks = Texts("CIDR; empty: from anywhere.")
    made_by = Text(
        "Key of the token that created or preceded it; null: a person created it.",
        null=True,
        of=lambda token: token.made_by or None,
    )
    live = Boolean(
        "False: it has expired or was revoked.", of=lambda token: token.is_live(database_now())
    )
    created_at = DateTime("When it was created.")
    expires_at = DateTime("When it ends.")
    revoked_at = DateTime("When it was revoked; null: it was not.", null=True)
    last_used_at = DateTime("When it was last used; null: never.", null=True)
    last_used_address = Text(
        "IP address of its last use; null: none.", of="last_used_ip", null=True
    )
    text = Text(
        "The whole token; only in the answer that created it, null in its replay.",
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
        raise ValueError(f"{text} has a zone, which is valid on one machine only")
    network = ip_network(text, strict=False)
    if not isinstance(network, IPv6Network) or network.network_address.ipv4_mapped is None:
        return network
    inner = network.network_address.ipv4_mapped
    return IPv4Network((inner, network.prefixlen - MAPPED_BITS))


class TokenBody(Body):
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


class RotateBody(Body):
    """Lifetime of the new token, and its overlap with the old one."""

    days = Integer(
        "Days until the new token expires.",
        min_value=1,
        max_value=api_tokens.MAX_DAYS,
        default=api_tokens.DEFAULT_DAYS,
    )
    overlap_hours = Integer(
        "Hours for which both work.", min_value=0, max_value=MOST_OVERLAP_HOURS, default=24
    )


MADE = Truth(
    "made", "`true`: also the tokens that it created or that replaced it, and their successors."
)
FORGET = Truth("forget", "`true`: also removes it from the list. Jobs and logs keep its key.")


class TokenResource(Resource):
    """Tokens: one's own, for admins everyone's."""

    read_scope = Scope.PEOPLE_READ
    write_scope = Scope.TOKENS

    def tokens(self) -> QuerySet[ApiToken]:
        """Tokens have no row security, because they are read before anybody is known: so it is said
        twice whose they are."""
        rows = ApiToken.objects.all().visible_to(self.user).select_related("user")
        return rows if may(self.user, Right.ADMINISTER) else rows.filter(user=self.user)

    def one(self, key: str) -> ApiToken:
        """The one of this key."""
        return get_object_or_404(self.tokens(), key=key)


class IssuingResource(TokenResource):
    """Whatever makes a token. Its text is shown once."""

    once_only = ("text",)

    def demand_own(self, scopes: list[str], networks: list[str]) -> None:
        """A token gives no right that it lacks itself, and one that is bound to networks
        makes none that is free of them."""
        if self.token is None:
            return
        if beyond := sorted(set(scopes) - set(covered_by(self.token.scopes))):
            message = f"This token lacks the scopes {', '.join(beyond)}."
            raise unfit("scopes", message, "beyond_own")
        own = self.token.networks
        if own and (not networks or not all(_is_within(each, own) for each in networks)):
            message = f"This token is bound to {', '.join(own)}."
            raise unfit("networks", message, "beyond_own")

    def issued(self, owner: User, issue: Callable[[], tuple[ApiToken, str]]) -> Response:
        """A new token of the owner, who has room for it."""
        if ApiToken.objects.live().filter(user=owner).count() >= api_tokens.MAX_LIVE:
            raise ApiProblem(
                409, "too_many", f"{api_tokens.MAX_LIVE} tokens are live.", "Revoke one first."
            )
        try:
            token, text = issue()
        except ValueError as error:
            raise unfit("scopes", f"{error}.", "beyond_role") from None
        return self.shown(token, status=201, text=text)


class Tokens(IssuingResource):
    """One's own tokens; for admins those of all."""

    listing: ClassVar = Listing(
        "tokens",
        TokenShape,
        newest_first=True,
        sorts={"name": "name", "expires_at": "expires_at"},
        searched=("name",),
        search_text="Part of the name.",
        filters=(Parameter("user", "E-mail address of an account.", "user__email__iexact"),),
    )

    @operation("tokens_list", "List tokens", listing)
    def get(self, request: Request) -> Response:
        """Newest first, including revoked and expired tokens."""
        return self.page(self.tokens())

    @operation(
        "token_make", "Create a token", TokenShape, status=201, body=TokenBody, problems=(400, 409)
    )
    def post(self, request: Request) -> Response:
        """With at most the scopes of the calling token, and no later expiry. A replay of this
        answer (Idempotency-Key) has no `text`."""
        values = self.read()
        owner = self._owner(values.pop("user", None))
        values.setdefault("networks", self.token.networks if self.token is not None else [])
        self.demand_own(values["scopes"], values["networks"])
        return self.issued(
            owner, lambda: api_tokens.issue(owner, **values, by=self.user, maker=self.token)
        )

    def _owner(self, email: str | None) -> User:
        if email is None or email.lower() == self.user.email.lower():
            return self.user
        self.demand(Right.ADMINISTER)
        owner = User.objects.filter(email__iexact=email, is_service=True, is_active=True).first()
        if owner is None:
            raise unfit("user", "No active service account has this address.", "unknown")
        return owner


class OneToken(TokenResource):
    """One token."""

    measured = ("last_used_at", "last_used_address", "live")

    @operation("token", "Show a token", TokenShape)
    def get(self, request: Request, key: str) -> Response:
        """Without its secret, which the panel does not store."""
        return self.shown(self.one(key))

    @operation("token_revoke", "Revoke a token", parameters=(FORGET, MADE))
    def delete(self, request: Request, key: str) -> Response:
        """The same as `POST …/end`: it stays in the list, unless `forget` is true."""
        token = self.one(key)
        if MADE.of(request):
            api_tokens.revoke_with_made(token, self.user)
        end = api_tokens.forget if FORGET.of(request) else api_tokens.revoke_token
        end(token, self.user)
        return Response(status=204)


class TokenEnd(TokenResource):
    """The end of a token before its time."""

    @operation("token_end", "Revoke a token", TokenShape, parameters=(MADE,))
    def post(self, request: Request, key: str) -> Response:
        """The token stops working with the next request and stays in the list. Tokens that it
        created keep working unless `made` is true; `made_by` in the list names them."""
        end = api_tokens.revoke_with_made if MADE.of(request) else api_tokens.revoke_token
        end(self.one(key), self.user)
        return self.shown(self.one(key))


class TokenRotation(IssuingResource):
    """A new token in the place of an old one."""

    @operation(
        "token_rotate",
        "Replace a token",
        {201: (TokenShape, "The new token; the old one ends with the overlap.")},
        body=RotateBody,
        problems=(400, 409),
    )
    def post(self, request: Request, key: str) -> Response:
        """A token with the same name, scopes and networks, of one's own or of a service account.
        Both work for `overlap_hours`."""
        token = self.one(key)
        if token.user != self.user and not token.user.is_service:
            raise ApiProblem(
                403, "forbidden", "It is another person's token.", "Revoke it, or ask that person."
            )
        values = self.read()
        if not token.is_live(database_now()):
            raise ApiProblem(
                409, "ended", "The token has expired or was revoked.", "Create a new one."
            )
        self.demand_own(token.scopes, token.networks)
        overlap = timedelta(hours=values["overlap_hours"])
        return self.issued(
            token.user,
            lambda: api_tokens.rotate(token, days=values["days"], overlap=overlap, by=self.user),
        )


def _is_within(network: str, others: list[str]) -> bool:
    inner = ip_network(network)
    return any(
        inner.subnet_of(outer)  # type: ignore[arg-type]  # of the same version
        for outer in map(ip_network, others)
        if inner.version == outer.version
    )
