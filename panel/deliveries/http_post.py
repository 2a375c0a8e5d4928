"""One HTTP request, without redirects, without a proxy, within a time limit, and only to addresses
that the operator allowed.

The name is resolved once, and the checked address is the one connected to: a second lookup could
return another one.
"""

from __future__ import annotations

import http.client
import ipaddress
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from panel.deliveries.failure_words import failure_words

MAX_ANSWER_BYTES = 64 * 1024


class NoResponse(Exception):
    """The server could not be reached, or did not answer in time; the message says why."""


class Forbidden(Exception):
    """The settings do not allow the address; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The response; `body` has at most `MAX_ANSWER_BYTES`. `retry_after_seconds` is what the server
    asked for, if anything."""

    status: int
    body: bytes
    retry_after_seconds: float | None = None

    @property
    def is_success(self) -> bool:
        """Status 2xx."""
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class PostTarget:
    """Where a POST goes. `may_be_near`: also to this machine, where the address names it."""

    is_https: bool
    host: str
    port: int
    path: str
    may_be_near: bool = True


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """The rules of a purpose. The operator names its private hosts in `setting`. Where the operator
    sets the address itself (`may_be_near`), this machine need not be named there; an address from a
    page or the API must."""

    setting: str
    may_be_near: bool = False


BILLING: Final = AddressPolicy("TIERCEL_BILLING_PRIVATE_HOSTS", may_be_near=True)
HEARTBEAT: Final = AddressPolicy("TIERCEL_ALERT_PRIVATE_HOSTS", may_be_near=True)
ALERTS: Final = AddressPolicy("TIERCEL_ALERT_PRIVATE_HOSTS")
WEBHOOKS: Final = AddressPolicy("TIERCEL_WEBHOOK_PRIVATE_HOSTS")
NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
COMPATIBLE: Final = ipaddress.ip_network("::/96")
NEVER_PUBLIC: Final = tuple(
    map(
        ipaddress.ip_network,
        ("192.0.0.0/24", "192.88.99.0/24", "64:ff9b:1::/48", "fec0::/10", "5f00::/16"),
    )
)
"""Networks that `is_global` of some versions of Python accepts."""
PATH: Final = re.compile(r"[\x21-\x7e]*")


def target_of(
    url: str, private_hosts: Iterable[str] = (), purpose: AddressPolicy = BILLING
) -> PostTarget:
    """The parts of an address. Raises `Forbidden` for anything but https, except for
    `private_hosts`, which the operator named, and perhaps on this machine; and for what can never
    be reached."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError as error:
        raise Forbidden(f"The address has a bad port: {error}.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise Forbidden("The address must begin with http(s):// and have no user in it.")
    is_https = parts.scheme == "https"
    host, setting, may_be_near = parts.hostname, purpose.setting, purpose.may_be_near
    if not is_https and not (may_be_near and is_near(host)) and host not in private_hosts:
        raise Forbidden(f"Use https, or name the host in {setting}.")
    path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
    if PATH.fullmatch(path) is None:
        raise Forbidden("The address has spaces or non-ASCII characters: write them as %20.")
    port = port or (443 if is_https else 80)
    target = PostTarget(is_https, host, port, path, may_be_near)
    if _is_literal(host) and not is_allowed(host, target, private_hosts):
        raise Forbidden(f"{host} is in a private network: name it in {setting}.")
    return target


def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_near(host: str) -> bool:
    """Whether it names this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_allowed(address: str, target: PostTarget, private_hosts: Iterable[str] = ()) -> bool:
    """Whether a name that resolves to `address` may be called: only the operator's settings allow a
    private network or this machine."""
    if target.host in private_hosts:
        return True
    ip = ipaddress.ip_address(address)
    if target.may_be_near and is_near(target.host):
        return ip.is_loopback
    return all(map(_is_public, _meant_by(ip)))


def _is_public(ip: Any) -> bool:
    is_special = any(ip.version == net.version and ip in net for net in NEVER_PUBLIC)
    return ip.is_global and not ip.is_multicast and not is_special


def _meant_by(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> list[Any]:
    """The address, and the IPv4 addresses that a gateway or the kernel would derive from it."""
    if isinstance(ip, ipaddress.IPv4Address):
        return [ip]
    if ip.ipv4_mapped is not None:
        return [ip.ipv4_mapped]
    inner = [ip.sixtofour, *(ip.teredo or ())]
    if ip in NAT64 or ip in COMPATIBLE:
        inner.append(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF))
    return [ip, *(each for each in inner if each is not None)]


def origin_of(url: str) -> str:
    """Scheme, server and port: the receiver of a secret that is sent to the address."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"{parts.scheme}://{parts.hostname}:{port}"


def server_name(url: str) -> str:
    """Only the server of an address: the rest may grant access."""
    return urlsplit(url).hostname or "-"


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    seconds: float,
    private_hosts: Iterable[str] = (),
    purpose: AddressPolicy = BILLING,
    method: Literal["POST", "PUT"] = "POST",
) -> Answer:
    """The answer to a POST of `body` (also of b"": then Content-Length is 0), whatever its status.
    Raises `NoResponse` after `seconds` in all, and `Forbidden`. Error messages contain only the
    status: an address must not become a way to read an internal server."""
    hosts, end = tuple(private_hosts), time.monotonic() + seconds
    target = target_of(url, hosts, purpose)
    connection = http.client.HTTPConnection(target.host, target.port, timeout=seconds)
    try:
        sock = _connected(target, _addresses(target, hosts, purpose, end), end)
        # Each read has its time-out, but a trickle of bytes would outlast them all.
        overdue = threading.Event()
        watch = threading.Timer(max(0.0, end - time.monotonic()), _hang_up, (sock, overdue))
        watch.start()
        try:
            with closing(connection):
                connection.sock = sock
                if isinstance(sock, ssl.SSLSocket):
                    sock.do_handshake()
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
    except http.client.HTTPException:
        raise NoResponse("The answer is not HTTP.") from None
    except ValueError:
        # The error's own text has the header, which can be a secret.
        raise NoResponse("The address or the secret has characters that cannot be sent.") from None
    return answer


def _addresses(
    target: PostTarget, private_hosts: tuple[str, ...], purpose: AddressPolicy, end: float
) -> list[str]:
    """What the name leads to. The system's look-up has no time limit, so a thread waits for it."""
    resolving: Future[list[Any]] = Future()

    def look_up() -> None:
        try:
            resolving.set_result(
                socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
            )
        except Exception as error:
            resolving.set_exception(error)

    threading.Thread(target=look_up, daemon=True).start()
    resolved = resolving.result(_left(end))
    addresses = list(dict.fromkeys(str(each[4][0]) for each in resolved))
    if not all(is_allowed(address, target, private_hosts) for address in addresses):
        raise Forbidden(f"{target.host} is in a private network: name it in {purpose.setting}.")
    return addresses


def _connected(target: PostTarget, addresses: Sequence[str], end: float) -> socket.socket:
    """A connection to the first of the addresses that takes one, before any handshake."""
    failure: OSError = OSError("no address")
    for address in addresses:
        try:
            sock = socket.create_connection((address, target.port), timeout=_left(end))
            break
        except OSError as error:
            failure = error
    else:
        raise failure
    if not target.is_https:
        return sock
    return ssl.create_default_context().wrap_socket(
        sock, server_hostname=target.host, do_handshake_on_connect=False
    )


def _left(end: float) -> float:
    """Seconds until then; raises TimeoutError where none are left."""
    seconds = end - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


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
        # The connection ended at the same moment.
        return
