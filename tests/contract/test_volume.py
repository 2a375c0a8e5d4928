"""volume.create and volume.tag."""

from __future__ import annotations

import pytest

from storage.naming import new_key
from tests.contract.client import VOLUME_BYTES, Agent, argvs
from tests.contract.world import World


@pytest.mark.thorough
def test_a_new_volume_reads_as_zeros_where_another_tenant_wrote(agent: Agent, world: World) -> None:
    world.add_lv("earlier", VOLUME_BYTES)
    world.scribble("earlier")
    assert not world.reads_as_zeros("earlier")
    world.remove_lv("earlier")
    args, expect = agent.call("volume.create", agent.volume_args())
    (step,) = agent.preview(("volume.create", args, expect))
    assert step["error"] is None and step["deferred"] == []
    outcome = agent.do("volume.create", args)
    lv = agent.lv(args["name"])
    assert lv["segments"][0]["pvs"] == [world.slow[0]]
    assert world.reads_as_zeros(args["name"])
    assert sorted(lv["tags"]) == ["tiercel", f"tiercel.volume={args['volume_key']}"]
    assert lv["size_bytes"] == VOLUME_BYTES
    # What ran is what the preview showed, and what it said is kept.
    assert argvs(outcome["commands"]) == argvs(step["commands"])
    assert [command["rc"] for command in outcome["commands"]] == [0, 0, 0]
    assert outcome["progress"]["label"] == "zeroed"
    assert outcome["progress"]["total_bytes"] == VOLUME_BYTES
    text = "\n".join(line["text"] for line in outcome["lines"])
    assert f'Logical volume "{args["name"]}" created.' in text
    assert [line["n"] for line in outcome["lines"]] == list(range(1, len(outcome["lines"]) + 1))
    rest = agent.data("op.get", {"op": outcome["op"], "after": 1})["lines"]
    assert rest == outcome["lines"][1:]
    with agent.unchanged():
        assert agent.do("volume.create", args)["commands"] == []


@pytest.mark.thorough
def test_an_interrupted_zeroing_is_taken_up_again(agent: Agent, world: World) -> None:
    key = new_key()
    name = f"v-{key}"
    tags = ["tiercel", f"tiercel.volume={key}", "tiercel.zeroing"]
    world.add_lv(name, VOLUME_BYTES, tags=tags)
    world.scribble(name)
    outcome = agent.do("volume.create", agent.volume_args(key))
    assert [command["argv"][0] for command in outcome["commands"]] == ["blkdiscard", "lvchange"]
    assert world.reads_as_zeros(name)
    assert "tiercel.zeroing" not in agent.lv(name)["tags"]


@pytest.mark.thorough
def test_an_existing_volume_is_tagged_while_a_guest_holds_it(agent: Agent, world: World) -> None:
    world.add_lv("web12", VOLUME_BYTES, tags=["cust=42"])
    key = new_key()
    with world.guest("web12", "web12"):
        args = {"lv": "web12", "volume_key": key}
        facts = {"lv_name": "web12", "size_bytes": VOLUME_BYTES}
        agent.do("volume.tag", args, **facts)
        assert sorted(agent.lv("web12")["tags"]) == ["cust=42", "tiercel", f"tiercel.volume={key}"]
        with agent.unchanged():
            assert agent.do("volume.tag", args, **facts)["commands"] == []
