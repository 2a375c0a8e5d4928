"""docs/agent-protocol.md says what the agent does: its tables are those of the registry, and its
example is played."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from storage.agent import REPLY_LIMIT
from storage.agent.calls.call import ArgumentSchema
from storage.agent.calls.refusals import CODES
from storage.agent.verbs.registry import VERBS
from storage.agent.verbs.verb import Trait, Verb
from storage.agent.wire.protocol import REQUEST_LIMIT, STEPS_LIMIT
from storage.agent.wire.reading_verbs import READING
from tests.contract.client import Agent
from tests.fake import FakeHost

DOCUMENT = Path(__file__).parents[4] / "docs" / "agent-protocol.md"
ANY = "…"


def section(name: str) -> list[str]:
    """The lines between `<!-- name -->` and `<!-- end -->`."""
    text = DOCUMENT.read_text()
    match = re.search(rf"<!-- {name} -->\n(.*?)<!-- end -->", text, re.S)
    assert match is not None, name
    return match.group(1).splitlines()


def in_words(trait: Trait) -> str:
    return trait.name.lower().replace("_", " ")


def shown(schema: ArgumentSchema) -> str:
    required = [f"`{name}`" for name in schema.required if name != "vg"]
    return ", ".join([*required, *(f"[`{name}`]" for name in schema.optional)])


def row(verb: Verb) -> str:
    traits = ", ".join(in_words(trait) for trait in Trait if trait in verb.traits)
    return f"| `{verb.name}` | {verb.title} | {shown(verb.arguments)} | {traits} |"


def reading_rows() -> list[str]:
    return [
        f"| `{verb.name}` | {verb.title} | {', '.join(f'`{each}`' for each in verb.arguments)} |"
        for verb in READING.values()
    ]


def test_the_verbs_and_their_properties_are_those_of_the_registry() -> None:
    """To renew the tables after a new verb, copy what this test expects."""
    assert section("changing verbs")[2:] == [row(verb) for verb in VERBS.values()]
    assert section("reading verbs")[2:] == reading_rows()
    meant = [f"* **{in_words(trait)}**: {trait.value}." for trait in Trait]
    assert [line for line in section("properties") if line] == meant


def test_every_error_code_has_one_row() -> None:
    codes = [line.split("`")[1] for line in section("codes") if line.startswith("| `")]
    assert sorted(codes) == sorted(CODES)


def test_the_limits_are_those_of_the_agent() -> None:
    text = " ".join(DOCUMENT.read_text().split())
    limits = (REQUEST_LIMIT // 1024, REPLY_LIMIT // 1024**2, STEPS_LIMIT)
    said = "A request has at most {} KiB, a reply at most {} MiB, a preview at most {} steps"
    assert said.format(*limits) in text


def differences(shown: Any, real: Any, where: str = "reply") -> list[str]:
    """What the document shows and the agent does not answer; ANY is any value."""
    if shown == ANY:
        return []
    if isinstance(shown, dict) and isinstance(real, dict):
        missing = [f"{where} lacks {key}" for key in shown.keys() - real.keys()]
        both = shown.keys() & real.keys()
        return missing + [
            line for key in both for line in differences(shown[key], real[key], f"{where}.{key}")
        ]
    if isinstance(shown, list) and isinstance(real, list) and len(shown) == len(real):
        pairs = enumerate(zip(shown, real, strict=True))
        return [line for n, pair in pairs for line in differences(*pair, f"{where}[{n}]")]
    return [] if shown == real else [f"{where}: {real!r} is not {shown!r}"]


def test_the_example_is_what_the_agent_answers(agent: Agent, host: FakeHost) -> None:
    lines = re.findall(r"(?m)^([<>]) (\{.*\})$", DOCUMENT.read_text())
    assert [mark for mark, _ in lines] == ["", *"><" * (len(lines) // 2)][1:]
    assert len(lines) >= 10
    for (_, request), (_, reply) in zip(lines[::2], lines[1::2], strict=True):
        asked = request.replace("UUID OF vg0", agent.vg()["uuid"])
        real = json.loads(agent.world.answer(asked.encode() + b"\n"))
        host.wait_for_ops()
        assert differences(json.loads(reply), real) == [], request


@pytest.mark.parametrize(
    ("shown", "real"),
    [({"a": 1}, {"a": 2}), ({"a": 1}, {}), ([1], [1, 2]), ({"a": {"b": 1}}, {"a": {"b": ANY}})],
)
def test_a_false_example_would_be_seen(shown: Any, real: Any) -> None:
    assert differences(shown, real)
