from __future__ import annotations

import json

import pytest

from storage.agent.calls.refusals import Refusal
from storage.agent.state.fence import FOLDER, Fence, seen
from tests.fake import FakeHost

VG = "bw262p-UFXe-yIoc-4Uai-Yckq-JiMT-7Y7xtA"


def test_the_first_number_may_come_between_two_looks(
    host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = host.exists

    def written_meanwhile(path: str) -> bool:
        host.save(f"{FOLDER}/{VG}", json.dumps({"fence": 4, "op": "one"}).encode())
        return look(path)

    monkeypatch.setattr(host, "exists", written_meanwhile)
    assert seen(host, VG) == Fence(4, "one")


@pytest.mark.parametrize("content", [b"", b"{}", b'{"fence": "4", "op": "one"}', b"\xff"])
def test_a_number_that_cannot_be_understood_admits_no_operation(
    host: FakeHost, content: bytes
) -> None:
    host.save(f"{FOLDER}/{VG}", content)
    with pytest.raises(Refusal, match="highest fence number of this VG is unknown"):
        seen(host, VG)
