"""One HTTP request, without redirects, without a proxy, within a time limit, and only to addresses
that the operator allowed.

The name is resolved once, and the checked address is the one connected to: a second lookup could
return another one.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from panel.deliveries.failure_words import failure_words

MAX_ANSWER_BYTES = 64 * 1024


class NoResponse(Exception):
    """It could not be reached, or did not answer in time; the message says why."""


class Forbidden(Exception):
    """The settings do not allow that address; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; `body` has at most `MAX_ANSWER_BYTES`. `retry_after_seconds` is when to come
    again, where the other side says so."""

    status: int
    body: bytes
    retry_after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class PostTarget:
    """Where a POST goes. `may_be_near`: to this machine too, where the address names it."""

    is_https: bool
    host: str
    port: int
    path: str
    may_be_near: bool = True


BILLING: Final = "TIERCEL_BILLING_PRIVATE_HOSTS"
ALERTS: Final = "TIERCEL_ALERT_PRIVATE_HOSTS"
WEBHOOKS: Final = "TIERCEL_WEBHOOK_PRIVATE_HOSTS"
NAT64: Final = ipaddress.ip_network("64:ff9b::/96")


def target_of(url: str, private_hosts: Iterable[str] = (), setting: str = BILLING) -> PostTarget:
    """The parts of an address. Raises `Forbidden` for anything but https, except for
    `private_hosts`, which the operator named in `setting`, and on this machine. Addresses of
    webhooks come by the API, too: for them this machine must be named like any other one."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError as error:
        raise Forbidden(f"The address has a bad port: {error}.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise Forbidden("The address is no http(s) address without a user in it.")
    is_https = parts.scheme == "https"
    host = parts.hostname
    may_be_near = setting != WEBHOOKS
    if not is_https and not (may_be_near and is_near(host)) and host not in private_hosts:
        raise Forbidden(f"Use https, or name the host in {setting}.")
    path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
    return PostTarget(is_https, host, port or (443 if is_https else 80), path, may_be_near)


def is_near(host: str) -> bool:
    """Whether it names this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_allowed(address: str, target: PostTarget, private_hosts: Iterable[str] = ()) -> bool:
    """Whether a name that leads to `address` may be called: only the operator's own word leads into
    a private network or to this machine."""
    if target.host in private_hosts:
        return True
    ip = ipaddress.ip_address(address)
    if target.may_be_near and is_near(target.host):
        return ip.is_loopback
    return all(each.is_global and not each.is_multicast for each in _meant_by(ip))


def _meant_by(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> list[Any]:
    """The address, and those of IPv4 that a gateway or the kernel would make of it."""
    if isinstance(ip, ipaddress.IPv4Address):
        return [ip]
    if ip.ipv4_mapped is not None:
        return [ip.ipv4_mapped]
    inner = [ip.sixtofour, *(ip.teredo or ())]
    if ip in NAT64:
        inner.append(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF))
    return [ip, *(each for each in inner if each is not None)]


def server_name(url: str) -> str:
    """Of an address the server alone: the rest may let somebody in."""
    return urlsplit(url).hostname or "-"


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    seconds: float,
    private_hosts: Iterable[str] = (),
    setting: str = BILLING,
    method: Literal["POST", "PUT"] = "POST",
) -> Answer:
    """The answer to a POST of `body` (also of b"": then Content-Length is 0), whatever its status.
    Raises `NoResponse` after `seconds` in all, and `Forbidden`."""
    hosts = tuple(private_hosts)
    target = target_of(url, hosts, setting)
    connection = http.client.HTTPConnection(target.host, target.port, timeout=seconds)
    try:
        sock = _connected(target, hosts, seconds, setting)
        # Each read has its time-out, but a trickle of bytes would outlast them all.
        overdue = threading.Event()
        watch = threading.Timer(seconds, _hang_up, (sock, overdue))
        watch.start()
        try:
            with closing(connection):
                connection.sock = sock
                connection.request(method, target.path, body, {**headers, "Connection": "close"})
                response = connection.getresponse()
                answer = Answer(
                    response.status,
                    response.read(MAX_ANSWER_BYTES),
                    _seconds_until(response.getheader("Retry-After", "")),
                )
        finally:
            watch.cancel()
        if overdue.is_set():  # what was read is cut off somewhere
            raise TimeoutError
    except TimeoutError:
        raise NoResponse(f"No answer within {seconds:g} s.") from None
    except OSError as error:
        raise NoResponse(failure_words(error, "server")[:250]) from error
    except (UnicodeError, http.client.HTTPException) as error:
        raise NoResponse(f"{type(error).__name__}: {error}"[:250]) from error
    return answer


def _connected(
    target: PostTarget, private_hosts: tuple[str, ...], seconds: float, setting: str
) -> socket.socket:
    resolved = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(each[4][0]) for each in resolved))
    if not all(is_allowed(address, target, private_hosts) for address in addresses):
        raise Forbidden(f"{target.host} lies in a private network: name it in {setting}.")
    failure: OSError = OSError("no address")
    for address in addresses:
        try:
            sock = socket.create_connection((address, target.port), timeout=seconds)
            break
        except OSError as error:
            failure = error
    else:
        raise failure
    if not target.is_https:
        return sock
    try:
        return ssl.create_default_context().wrap_socket(sock, server_hostname=target.host)
    except BaseException:
        sock.close()
        raise


def _seconds_until(retry_after: str) -> float | None:
    """A number of seconds or a date (RFC 9110); None for anything else."""
    if retry_after.isascii() and retry_after.isdigit() and len(retry_after) < 10:
        return float(retry_after)
    try:
        at = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    # A date of RFC 5322 without a zone is in UTC.
    at = at.replace(tzinfo=at.tzinfo or UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())


def _hang_up(sock: socket.socket, overdue: threading.Event) -> None:
    overdue.set()
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        # It ended in the same moment: there is nothing left to hang up.
        return
