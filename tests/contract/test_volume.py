"""volume.create and volume.tag."""

from __future__ import annotations

from storage.naming import new_key
from tests.contract.client import VOLUME_BYTES, Agent, argvs, volume_args
from tests.contract.world import World


def test_a_new_volume_has_our_tags_and_no_passing_one(agent: Agent) -> None:
    volume = agent.volume()
    lv = agent.lv(volume)
    assert sorted(lv["tags"]) == ["tiercel", f"tiercel.volume={volume[2:]}"]
    assert lv["size_bytes"] == VOLUME_BYTES
    assert lv["segments"][0]["pvs"] == ["sdc"]


def test_a_new_volume_reads_as_zeros_where_another_tenant_wrote(agent: Agent, world: World) -> None:
    world.add_lv("earlier", VOLUME_BYTES)
    world.scribble("earlier")
    assert not world.reads_as_zeros("earlier")
    world.remove_lv("earlier")
    volume = agent.volume()
    assert agent.lv(volume)["segments"][0]["pvs"] == ["sdc"]
    assert world.reads_as_zeros(volume)


def test_a_bcache_ready_volume_waits_for_its_format(agent: Agent) -> None:
    volume = agent.volume("bcache", pv="sdd")
    assert "tiercel.format=bcache" in agent.lv(volume)["tags"]
    assert agent.lv(volume)["bcache"] is None


def test_progress_and_output_of_a_creation_are_kept(agent: Agent) -> None:
    key = new_key()
    outcome = agent.do("volume.create", volume_args(key))
    assert [command["rc"] for command in outcome["commands"]] == [0, 0, 0]
    assert outcome["progress"]["label"] == "zeroed"
    assert outcome["progress"]["total_bytes"] == VOLUME_BYTES
    text = "\n".join(line["text"] for line in outcome["lines"])
    assert f'Logical volume "v-{key}" created.' in text
    assert [line["n"] for line in outcome["lines"]] == list(range(1, len(outcome["lines"]) + 1))


def test_a_creation_runs_exactly_what_its_preview_showed(agent: Agent) -> None:
    args, expect = agent.call("volume.create", volume_args(new_key()))
    (step,) = agent.preview(("volume.create", args, expect))
    assert step["error"] is None and step["deferred"] == []
    outcome = agent.do("volume.create", args)
    assert argvs(outcome["commands"]) == argvs(step["commands"])


def test_creating_what_is_there_already_runs_nothing(agent: Agent) -> None:
    args = volume_args(new_key())
    agent.do("volume.create", args)
    with agent.unchanged():
        outcome = agent.do("volume.create", args)
    assert outcome["commands"] == []


def test_an_interrupted_zeroing_is_taken_up_again(agent: Agent, world: World) -> None:
    key = new_key()
    name = f"v-{key}"
    tags = ["tiercel", f"tiercel.volume={key}", "tiercel.zeroing"]
    world.add_lv(name, VOLUME_BYTES, tags=tags)
    world.scribble(name)
    outcome = agent.do("volume.create", volume_args(key))
    assert [command["argv"][0] for command in outcome["commands"]] == ["blkdiscard", "lvchange"]
    assert world.reads_as_zeros(name)
    assert "tiercel.zeroing" not in agent.lv(name)["tags"]


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
