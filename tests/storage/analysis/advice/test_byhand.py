"""The commands shown are those the agent would run, also where it may not run them."""

from __future__ import annotations

import pytest

from storage.analysis.advice.by_hand import by_hand
from storage.byte_sizes import GIB
from storage.models import Host, Placement
from storage.planner import Refused
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of
from tests import make
from tests.storage.analysis.advice.load import known

pytestmark = pytest.mark.django_db


def row(host: Host) -> VolumeSnapshot:
    return snapshots_of(each.volume for each in Placement.objects.filter(host=host))[0]


def test_an_observe_only_volume_gets_the_whole_list_of_commands() -> None:
    host, _facts, volumes = known(make.lv("web12"), vgs=(make.vg(allowed=False),))
    key = volumes["web12"].key
    lines = by_hand(row(host), 2 * GIB).add
    assert lines[0] == f"lvchange --addtag tiercel --addtag tiercel.volume={key} vg0/web12"
    assert lines[1].startswith(f"lvcreate -y -Wy -Zy -n c-{key} -L 2147483648b")
    assert lines[1].endswith("vg0 /dev/md0")
    assert lines[2].startswith("blkdiscard --zeroout")
    assert lines[4].startswith("lvconvert -y --type cache-pool")
    assert lines[5].startswith("lvconvert -y --type cache --cachepool")
    assert "--cachemode writethrough" in lines[5]
    assert len(lines) == 6


def test_the_way_back_is_shown_too() -> None:
    host, _facts, _volumes = known(make.lv("web12"))
    assert by_hand(row(host), 2 * GIB).remove == ("lvconvert -y --uncache vg0/web12",)


def test_the_same_commands_are_shown_each_time() -> None:
    host, _facts, _volumes = known(make.lv("web12"))
    assert by_hand(row(host), 2 * GIB) == by_hand(row(host), 2 * GIB)


def test_a_bcache_ready_volume_gets_the_commands_of_bcache() -> None:
    host, _facts, _volumes = known(make.lv("web12", bcache=make.bcache()))
    shown = by_hand(row(host), 2 * GIB)
    assert any(line.startswith("make-bcache --cset-uuid") for line in shown.add)
    assert any("/bcache/attach" in line for line in shown.add)
    assert any("/bcache/detach" in line for line in shown.remove)


def test_a_volume_that_cannot_have_a_cache_has_no_commands() -> None:
    host, _facts, _volumes = known(make.lv("web12", layout=("thin", "sparse")))
    with pytest.raises(Refused) as refused:
        by_hand(row(host), 2 * GIB)
    assert refused.value.code == "unsupported"
