"""The client's address of a request."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Final

from allauth.account.adapter import get_adapter
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

IPV6_PREFIX: Final = 64
"""One subscriber has at least so much to choose addresses from."""


def address_of(request: HttpRequest) -> str | None:
    """The client's IP address: the peer's or, where the settings trust a proxy, the one that the
    proxy names. None where there is none that can be read (a Unix socket has no peer)."""
    try:
        text = get_adapter().get_client_ip(request)
        return str(ip_address(text.partition("%")[0]))
    except (PermissionDenied, ValueError):
        return None


def network_of(address: str | None) -> str:
    """Whom to count for the requests of an address: itself, or its IPv6 network."""
    if address is None:
        return "none"
    if ip_address(address).version == 4:
        return address
    return str(ip_network(f"{address}/{IPV6_PREFIX}", strict=False))
