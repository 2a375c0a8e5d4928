"""The client's address of a request."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
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
        return str(ip_address(get_adapter().get_client_ip(request)))
    except (PermissionDenied, ValueError):
        return None


def plain_address(text: str) -> IPv4Address | IPv6Address:
    """The address; of one of IPv4 in IPv6's clothes (`::ffff:203.0.113.5`, as sockets of both
    have it) that of IPv4. Raises ValueError."""
    ip = ip_address(text)
    return getattr(ip, "ipv4_mapped", None) or ip


def network_of(address: str | None) -> str:
    """Whom to count for the requests of an address: itself, or its IPv6 network."""
    if address is None:
        return "none"
    if ip_address(address).version == 4:
        return address
    return str(ip_network(f"{address}/{IPV6_PREFIX}", strict=False))
