"""The result of a run, fetched from its host in pieces and stored. What a host sends is bounded
before it is unpacked, and a file that is stored already is not fetched again."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from dataclasses import dataclass
from typing import Annotated, Any, Final

from msgspec import Meta

from jobs.hosts import contact, panel_identity
from jobs.transport.errors import AgentFailed
from jobs.transport.replies import Reply
from storage.byte_sizes import KIB, MIB
from storage.host_data import BadHostData, Count, decoded
from storage.models import BenchmarkFile, BenchmarkRun, Host

FILE_NAME: Final = re.compile(
    r"run\.json|conditions\.json|fio\.json|legs\.jsonl|(?:iops|hist)\.[0-9]{1,3}\.log"
)
MOST_FILES: Final = 40
MOST_BYTES: Final = 66 * MIB
"""Of all files of a run: a little more than the agent keeps."""
PIECE_BYTES: Final = 512 * KIB
MOST_TEXT: Final = 2 * MIB
GZIP: Final = 16 + zlib.MAX_WBITS
NOT_THERE: Final = "not_found"


@dataclass(frozen=True, slots=True)
class ListedFile:
    name: Annotated[str, Meta(max_length=64)]
    size: Count


@dataclass(frozen=True, slots=True)
class ListedResult:
    key: Annotated[str, Meta(max_length=26)]
    outcome: Annotated[str, Meta(max_length=16)]
    files: Annotated[tuple[ListedFile, ...], Meta(max_length=200)]


@dataclass(frozen=True, slots=True)
class ResultListing:
    results: Annotated[tuple[ListedResult, ...], Meta(max_length=200)]


@dataclass(frozen=True, slots=True)
class Piece:
    data: Annotated[str, Meta(max_length=MOST_TEXT)]
    next: Count
    total: Count


def results_on(host: Host) -> dict[str, ListedResult]:
    """What the host keeps, by key. Raises `TransportError` and `BadHostData`."""
    listing = decoded(_ask(host, "bench.results", {}), ResultListing, "bench.results")
    return {each.key: each for each in listing.results}


def fetch_result(run: BenchmarkRun, host: Host, listed: ListedResult) -> None:
    """Store its files. Raises `TransportError` where the host must be asked again, and
    `BadHostData` where what it sends can be no result."""
    _demand_bounded(listed)
    stored = set(run.files.values_list("name", flat=True))
    for each in listed.files:
        if each.name not in stored:
            packed = _fetch(host, run.key, each)
            row = BenchmarkFile(run=run, name=each.name, packed=packed, size_bytes=each.size)
            # Another worker may have stored it meanwhile: it is the same.
            BenchmarkFile.objects.bulk_create([row], ignore_conflicts=True)


def forget_result(host: Host, key: str) -> None:
    """Have the host remove the result. Raises `TransportError`."""
    _ask(host, "bench.forget", {"key": key}, panel=panel_identity.named_to(host))


def _demand_bounded(listed: ListedResult) -> None:
    names = [each.name for each in listed.files]
    if len(names) > MOST_FILES or len(set(names)) != len(names):
        raise BadHostData(f"bench.results: {len(names)} files, or one twice")
    if any(FILE_NAME.fullmatch(name) is None for name in names):
        raise BadHostData("bench.results: a file that no run has")
    if (size := sum(each.size for each in listed.files)) > MOST_BYTES:
        raise BadHostData(f"bench.results: {size} bytes, and {MOST_BYTES} are the most")


def _fetch(host: Host, key: str, file: ListedFile) -> bytes:
    """The file, repacked as one."""
    packer = zlib.compressobj(level=6, wbits=GZIP)
    packed, offset = bytearray(), 0
    while offset < file.size:
        args = {"key": key, "name": file.name, "offset": offset}
        piece = decoded(_ask(host, "bench.read", args), Piece, "bench.read", MOST_TEXT)
        data = unpacked(piece.data)
        if piece.total != file.size or piece.next != offset + len(data) or not data:
            raise BadHostData(f"bench.read: {file.name} at {offset} is not what was listed")
        packed += packer.compress(data)
        offset = piece.next
    if offset != file.size:
        raise BadHostData(f"bench.read: {file.name} is longer than listed")
    return bytes(packed + packer.flush())


def unpacked(text: str) -> bytes:
    """A piece, never more than `PIECE_BYTES` of it. Raises `BadHostData`."""
    try:
        raw = base64.b64decode(text, validate=True)
        unpacker = zlib.decompressobj(wbits=GZIP)
        data = unpacker.decompress(raw, PIECE_BYTES)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise BadHostData(f"bench.read: no packed piece ({error})") from None
    if not unpacker.eof or unpacker.unused_data:
        raise BadHostData("bench.read: a piece that is too long, or cut short")
    return data


def _ask(
    host: Host, verb: str, args: dict[str, Any], panel: dict[str, Any] | None = None
) -> dict[str, Any]:
    reply: Reply = contact.ask(host, verb, args, panel=panel)
    if reply.error is not None:
        raise AgentFailed(host.name, reply.error)
    return reply.data
