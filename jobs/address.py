"""Where a request came from."""

from __future__ import annotations

from ipaddress import ip_address

from allauth.account.adapter import get_adapter
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest


def address_of(request: HttpRequest) -> str | None:
    """The client's IP address: the peer's or, where the settings trust a proxy, the one that the
    proxy names. None where there is none that can be read (a Unix socket has no peer)."""
    try:
        text = get_adapter().get_client_ip(request)
        return str(ip_address(text.partition("%")[0]))
    except (PermissionDenied, ValueError):
        return None
