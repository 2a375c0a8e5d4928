"""The verbs that change nothing on a volume: their arguments and answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Callable

from ..benchmark import kept_results
from ..calls import names
from ..calls.call import Validator, VerbCall
from ..facts.counter_sample import sample
from ..facts.hello import hello
from ..facts.inventory import inventory
from ..heat import requests
from ..kernel.local_host import LocalHost
from ..operations import disk_checks, ops
from ..operations.pacer import RISES
from ..state.heat_files import VOLUMES_LIMIT
from ..state.policy import load_policy

Data = Mapping[str, Any]
Warnings = tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class ReadingVerb:
    """`title` is for people. `answer` gives data and warnings; it may raise Refusal.
    `needs_reachable`: refused while a program that only reads hangs on the host. `needs_started`:
    refused until the boot unit has ended after a start of the host. `is_owners`: refused to a panel
    that does not manage the host, since it sets the host to work or interferes with what works."""

    name: str
    title: str
    answer: Callable[[LocalHost, VerbCall], tuple[Data, Warnings]]
    arguments: Mapping[str, Validator] = field(default_factory=dict)
    needs_reachable: bool = False
    needs_started: bool = False
    is_owners: bool = False


def _sample(host: LocalHost, call: VerbCall) -> tuple[Data, Warnings]:
    data, warnings = sample(host, call.args.get("lv_uuids"))
    return data, tuple(warnings)


WATCH = "sample.watch"
"""The one verb with more than one reply: `count` of them, one every `every_seconds`."""
WATCHED_LIMIT, WATCH_COUNT_LIMIT = 16, 900


READING: Mapping[str, ReadingVerb] = {
    verb.name: verb
    for verb in (
        ReadingVerb(
            "hello",
            "What the host is, its tools, versions, owner and problems",
            lambda host, call: (hello(host), ()),
        ),
        ReadingVerb(
            "inventory",
            "Volume groups, disks, volumes, caches and who uses them",
            lambda host, call: (inventory(host, load_policy(host)), ()),
            needs_reachable=True,
            needs_started=True,
        ),
        ReadingVerb("sample", "Counters of disks, volumes and caches", _sample, {}, True),
        ReadingVerb(
            WATCH,
            "Counters of some volumes, again and again",
            _sample,
            {
                "lv_uuids": names.lvm_uuids(WATCHED_LIMIT),
                "every_seconds": names.integer(1, 60),
                "count": names.integer(1, WATCH_COUNT_LIMIT),
            },
            True,
        ),
        ReadingVerb(
            "heat.observe",
            "Observe the heat of these volumes, and of no other one",
            lambda host, call: (requests.observe(host, call.args["lv_uuids"]), ()),
            {"lv_uuids": names.lvm_uuids(VOLUMES_LIMIT, least=0)},
            is_owners=True,
        ),
        ReadingVerb(
            "heat.forget",
            "Forget which parts of these volumes are read most",
            lambda host, call: (requests.forget_reads(host, call.args["lv_uuids"]), ()),
            {"lv_uuids": names.lvm_uuids(VOLUMES_LIMIT)},
            is_owners=True,
        ),
        ReadingVerb(
            "heat.trace",
            "Trace all I/Os of a volume for some minutes, or no longer (0)",
            lambda host, call: (requests.trace(host, call.args), ()),
            {
                "lv_uuid": names.lvm_uuid,
                "minutes": names.integer(0, requests.MINUTES_LIMIT),
                "chunk_kib": names.integer(requests.CHUNK_KIB, 1 << 20, requests.CHUNK_KIB),
            },
            is_owners=True,
        ),
        ReadingVerb(
            "heat.records",
            "Records of heat, without those up to `after`, which the host forgets",
            lambda host, call: (requests.records(host, call.args["after"]), ()),
            {"after": names.integer(0, 1 << 53)},
            is_owners=True,
        ),
        ReadingVerb(
            "smart",
            "What each disk says of its own health",
            lambda host, call: (disk_checks.smart(host), ()),
        ),
        ReadingVerb(
            "disk.test",
            "Begin a self-test of a disk",
            lambda host, call: (disk_checks.test_disk(host, call.args), ()),
            {
                "device": names.smart_device,
                "type": names.smart_type,
                "serial": names.serial,
                "kind": names.choice(disk_checks.SHORT, disk_checks.LONG),
            },
            is_owners=True,
        ),
        ReadingVerb(
            "array.check",
            "Begin to compare the copies of an md array",
            lambda host, call: (disk_checks.check_array(host, call.args), ()),
            {"array": names.kernel_name, "uuid": names.serial},
            is_owners=True,
        ),
        ReadingVerb(
            "bench.results",
            "Results of benchmark runs that this host keeps",
            lambda host, call: (kept_results.listed_results(host), ()),
        ),
        ReadingVerb(
            "bench.read",
            "A piece of a file of a result",
            lambda host, call: (kept_results.read_piece(host, **call.args), ()),
            {
                "key": names.volume_key,
                "name": kept_results.file_name,
                "offset": names.integer(0, kept_results.BYTES_LIMIT),
            },
        ),
        ReadingVerb(
            "bench.forget",
            "Forget a result",
            lambda host, call: (kept_results.forget_result(host, call.args["key"]), ()),
            {"key": names.volume_key},
            is_owners=True,
        ),
        ReadingVerb(
            "op.get",
            "State, output and progress of an operation",
            lambda host, call: (ops.get(host, call.args["op"], call.args["after"]), ()),
            {"op": names.request_id, "after": names.integer(0, 1 << 53)},
        ),
        ReadingVerb(
            "op.list",
            "All operations that the journal keeps",
            lambda host, call: (ops.listing(host), ()),
        ),
        ReadingVerb(
            "op.abort",
            "Stop an operation",
            lambda host, call: (ops.abort(host, call.args["op"]), ()),
            {"op": names.request_id},
            is_owners=True,
        ),
        ReadingVerb(
            "op.pace",
            "Let an operation take more of the disks' time",
            lambda host, call: (ops.pace(host, call.args["op"], call.args["rise_percent"]), ()),
            {"op": names.request_id, "rise_percent": names.number_of(*RISES)},
            is_owners=True,
        ),
    )
}
