"""A line for each operation of the API's description: `python -m tests.api_digest openapi.yaml`.

The whole description is 25,000 lines that are made of the code, so git has docs/openapi.digest in
its place: what a change does to the API is read there, one line an operation. An operation's digest
covers the schemas that it uses. What most operations use, as the shape of a problem, has a line of
its own, or one more error code would change every line.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

Digest = dict[str, str]


def digest_of(document: Mapping[str, Any]) -> Digest:
    """The digest of each operation, of what most of them share, and of all the rest."""
    operations = {
        f"{'WEBHOOK' if section == 'webhooks' else method.upper()} {path}": operation
        for section in ("paths", "webhooks")
        for path, methods in document[section].items()
        for method, operation in methods.items()
    }
    components = {
        f"#/components/{kind}/{name}": part
        for kind, parts in document["components"].items()
        for name, part in parts.items()
    }
    used = {name: _used(operation, components) for name, operation in operations.items()}
    uses = Counter(reference for references in used.values() for reference in references)
    shared = {reference for reference, times in uses.items() if times > len(operations) / 2}
    rest = {key: part for key, part in document.items() if key not in ("paths", "webhooks")}
    rest["components"] = {ref: part for ref, part in components.items() if ref not in uses}
    return {
        "The rest": _hash(rest),
        **{f"SHARED {each.rpartition('/')[2]}": _hash(components[each]) for each in shared},
        **{
            name: _hash([operation, {each: components[each] for each in used[name] - shared}])
            for name, operation in operations.items()
        },
    }


def changes(before: Digest, now: Digest) -> list[str]:
    """What differs, in words."""
    words = {(True, False): "is gone", (False, True): "is new", (True, True): "has changed"}
    return [
        f"{name} {words[name in before, name in now]}"
        for name in sorted(before | now)
        if before.get(name) != now.get(name)
    ]


def written(digest: Digest) -> str:
    """The lines of the file, in the order of the addresses."""
    ordered = sorted(digest, key=lambda name: (name.partition(" ")[2], name))
    return "".join(f"{name} {digest[name]}\n" for name in ordered)


def read(text: str) -> Digest:
    """The digest that was written so."""
    return {name: value for name, _, value in (line.rpartition(" ") for line in text.splitlines())}


def _used(part: Any, components: Mapping[str, Any]) -> set[str]:
    """The components that this part of the document refers to, also by others."""
    used: set[str] = set()
    waiting = list(_references(part))
    while waiting:
        reference = waiting.pop()
        if reference not in used:
            used.add(reference)
            waiting.extend(_references(components[reference]))
    return used


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        part = list(part.values())
    for each in part if isinstance(part, list) else ():
        yield from _references(each)


def _hash(part: Any) -> str:
    return hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:12]


if __name__ == "__main__":
    document = yaml.load(Path(sys.argv[1]).read_text(), yaml.CSafeLoader)
    print(written(digest_of(document)), end="")
