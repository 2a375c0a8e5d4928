"""The way out for every volume, whatever its guest did to it."""

from __future__ import annotations

from storage.agent.commands.retirement import NAME_PREFIX
from tests.contract.client import Agent


def ends(agent: Agent, volume: str, layout: str) -> None:
    """The volume is retired and destroyed, as a plan for it would have it. The policy knows no
    undo window afterwards."""
    agent.world.allow(("vg0",), undo_hours=0)
    key = volume[2:]
    lv = agent.lv(volume)
    facts = agent.inventory()
    is_set = any(cset["lv_uuid"] == lv["uuid"] for cset in facts["csets"])
    end = {"volume_key": key, "layout": "cset" if is_set else "bcache" if lv["bcache"] else layout}
    agent.do("volume.retire", {"lv": volume, "retired_name": f"del-{key}", **end})
    retired = agent.lv(f"del-{key}")
    assert f"{NAME_PREFIX}{volume}" in retired["tags"]
    sizes = {"lv_uuid": retired["uuid"], "size_bytes": retired["size_bytes"]}
    end["layout"] = layout
    agent.do("volume.destroy", {"lv": f"del-{key}", **sizes, **end}, lv_uuid=retired["uuid"])
    assert f"del-{key}" not in agent.names()
