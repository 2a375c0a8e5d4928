"""Cache pools and what lvconvert and lvchange do with them (lvmcache)."""

from __future__ import annotations

from collections.abc import Generator

from storage.agent.kernel.local_host import CommandResult
from tests.fake import group
from tests.fake.argv import Line, failed, said
from tests.fake.group import Steps
from tests.fake.machine import Machine
from tests.fake.parts import EXTENT, KIB, MIB, Cache, Lv, ModelGap, Run, Vg

MAX_CHUNKS = 1_000_000


def create(machine: Machine, vg: Vg, line: Line, name: str, extents: int) -> CommandResult:
    """From the lowest free extents on: the group's spare metadata, metadata, data."""
    if line.one("--type") != "cache-pool":
        raise ModelGap(f"lvcreate --type {line.one('--type')}")
    if vg.lv(name) is not None:
        return failed(f"Logical volume {name} already exists in Volume group {vg.name}.")
    pool = Lv(vg, machine.lvm_uuid(), name, extents * EXTENT, tags=line.all("--addtag"))
    refusal = _furnish(machine, pool, line, extents)
    if refusal is not None:
        return refusal
    vg.lvs.append(pool)
    return said(f'Logical volume "{name}" created.')


def _to_pool(machine: Machine, lv: Lv, line: Line) -> CommandResult:
    """LVM switches the volume off, and makes it the data part of a new one, which gets its name. It
    keeps its uuid and its tags."""
    if machine.open_count(lv):
        return failed(
            f"Logical volume {lv.vg.name}/{lv.name} in use.",
            f"Cannot convert logical volume {lv.vg.name}/{lv.name}.",
        )
    refusal = _furnish(machine, lv, line, 0)
    if refusal is not None:
        return refusal
    if lv.data is not None:
        lv.data.uuid, lv.uuid = lv.uuid, machine.lvm_uuid()
        lv.data.tags, lv.tags = lv.tags, []
    lv.minor = None
    return said(f"Converted {lv.vg.name}/{lv.name} to cache pool.")


def _furnish(machine: Machine, pool: Lv, line: Line, extents: int) -> CommandResult | None:
    """Give `pool` its metadata, `extents` of data beside those that it has, and the group its
    spare metadata; or what LVM says when it cannot."""
    vg, name, size = pool.vg, pool.name, pool.size_bytes
    chunk = int(line.one("--chunksize").removesuffix("k")) * KIB
    if size > MAX_CHUNKS * chunk:
        least = -(-size // (MAX_CHUNKS * 32 * KIB)) * 32
        return failed(
            f"Chunk size {chunk / KIB:.2f} KiB is less than required minimal chunk size "
            f"{least:.2f} KiB for a cache pool of {size >> 30:.2f} GiB size and limit to "
            f"{MAX_CHUNKS} chunks."
        )
    meta_bytes = max(8 * MIB, 4 * MIB + 44 * -(-size // chunk))
    meta = -(-meta_bytes // EXTENT)
    spare = next((lv for lv in vg.lvs if lv.role.endswith(",spare")), None)
    grow = max(0, meta - (spare.size_bytes // EXTENT if spare else 0))
    runs = group.allocate(machine, vg, name, grow + meta + extents, line.operands[1:])
    if isinstance(runs, CommandResult):
        return runs
    spare_runs, rest = _split(runs, grow)
    meta_runs, data_runs = _split(rest, meta)
    if spare is not None:
        spare.runs += spare_runs
        spare.size_bytes += grow * EXTENT
    else:
        vg.lvs.append(
            _hidden(machine, vg, "lvol0_pmspare", "private,pool,spare", spare_runs)
        )  # fmt: skip
    data_role, metadata_role = "private,cache,pool,data", "private,cache,pool,metadata"
    pool.data = _hidden(
        machine, vg, f"{name}_cdata", data_role, [*pool.runs, *data_runs], "cdata"
    )  # fmt: skip
    pool.metadata = _hidden(machine, vg, f"{name}_cmeta", metadata_role, meta_runs, "cmeta")
    pool.layout, pool.role, pool.runs, pool.chunk_bytes = "cache,pool", "private", [], chunk
    vg.lvs += [pool.data, pool.metadata]
    machine.changed(vg, commits=3)
    return None


def _hidden(machine: Machine, vg: Vg, name: str, role: str, runs: list[Run], layer: str = "") -> Lv:
    size = sum(run.count for run in runs) * EXTENT
    return Lv(vg, machine.lvm_uuid(), name, size, runs, role=role, layer=layer)


def _split(runs: list[Run], count: int) -> tuple[list[Run], list[Run]]:
    head: list[Run] = []
    for at, run in enumerate(runs):
        if count == 0:
            return head, runs[at:]
        if run.count > count:
            head.append(Run(run.pv, run.first, count))
            rest = Run(run.pv, run.first + count, run.count - count)
            return head, [rest, *runs[at + 1 :]]
        head.append(run)
        count -= run.count
    return head, []


def convert(machine: Machine, vg: Vg, line: Line) -> Steps:
    operand = line.operands[0]
    lv = group.find(vg, operand)
    refusal = group.refuses_change(vg)
    if refusal is not None and line.has("--uncache") and lv is not None and lv.cache is not None:
        result = yield from _uncache_lost(machine, lv, operand)
        return result
    if refusal is not None:
        return refusal
    if lv is None:
        return group.not_found(operand)
    if line.has("--uncache"):
        result = yield from _uncache(machine, lv, operand)
        return result
    if line.one("--type") == "cache-pool":
        yield 0.5
        return _to_pool(machine, lv, line)
    if line.one("--type") != "cache":
        raise ModelGap(f"lvconvert --type {line.one('--type')}")
    pool = group.find(vg, line.one("--cachepool"))
    if pool is None:
        return failed(f"Cache pool LV {line.one('--cachepool')} not found.")
    if lv.layout != "linear":
        return failed(
            f"Command on LV {operand} does not accept LV type {lv.layout}.",
            f"Command not permitted on LV {operand}.",
        )
    yield 1.0
    _attach(machine, lv, pool, line)
    return said(f"Logical volume {operand} is now cached.")


def _attach(machine: Machine, lv: Lv, pool: Lv, line: Line) -> None:
    vg = lv.vg
    if pool.data is None or pool.metadata is None:
        raise ModelGap(f"{pool.name} is no cache pool")
    origin = Lv(
        vg, machine.lvm_uuid(), f"{lv.name}_corig", lv.size_bytes, lv.runs,
        role="private,cache,origin,cacheorigin", layer="real",
    )  # fmt: skip
    vg.lvs.append(origin)
    lv.runs, lv.layout = [], "cache"
    pool.name += "_cpool"
    pool.data.name, pool.metadata.name = f"{pool.name}_cdata", f"{pool.name}_cmeta"
    for part in (pool.data, pool.metadata, origin):
        part.minor = machine.free_minor()
    lv.cache = Cache(pool, origin, line.one("--cachemode"), line.one("--cachepolicy"))
    _settings(lv.cache, line)
    machine.changed(vg)


def _settings(cache: Cache, line: Line) -> None:
    for setting in line.all("--cachesettings"):
        name, _, value = setting.partition("=")
        if name != "migration_threshold":
            raise ModelGap(f"cache setting {setting}")
        cache.threshold = int(value)


def change(machine: Machine, lv: Lv, line: Line) -> Steps:
    """lvchange --cachepolicy, --cachesettings, --cachemode. A change of mode flushes first, with
    the VG locked."""
    operand = line.operands[0]
    cache = lv.cache
    if cache is None:
        return failed(
            f"Command on LV {operand} does not accept LV type linear.",
            f"Command not permitted on LV {operand}.",
        )
    words: list[str] = []
    if line.has("--cachepolicy"):
        cache.policy = line.one("--cachepolicy")
    _settings(cache, line)
    if line.has("--cachemode"):
        mode = line.one("--cachemode")
        if mode != cache.mode:
            words = yield from _flush(cache, operand)
            if cache.failed:
                return failed(f"Cache {operand} is not clean, refusing to switch cache mode.")
        cache.mode = mode
    cache.reload()
    machine.changed(lv.vg, 2 if words else 1)
    yield 0.3
    return said(*words, f"Logical volume {operand} changed.")


def _flush(cache: Cache, operand: str) -> Generator[float, None, list[str]]:
    """LVM switches to the cleaner policy by a flag beside the stored one, and looks twice a second.
    It takes the flag off at the end and on SIGINT; a SIGKILL leaves it on, and from then on only
    another flush that ends takes it off. It leaves a failed cache as it is."""
    words: list[str] = []
    while not cache.failed:
        cleaner = cache.kernel_policy == "cleaner"
        if not int(cache.dirty) and (cleaner or cache.mode != "writeback"):
            cache.emptying = False
            break
        words.append(f"Flushing {int(cache.dirty)} blocks for cache {operand}.")
        if not cleaner:
            cache.emptying = True
            continue
        try:
            yield 0.5
        except GeneratorExit:
            cache.emptying = False
            raise
    return words


def _uncache_lost(machine: Machine, lv: Lv, operand: str) -> Steps:
    """With a PV missing: without --force LVM gives up a writethrough cache only. It asks, and `-y`
    answers; it cannot flush and does not try."""
    cache = lv.cache
    if cache is None or cache.mode != "writethrough":
        return failed(f"Cannot uncache writeback cache volume {operand} without --force.")
    yield 0.5
    _forget_cache(machine, lv)
    return said(f"Logical volume {operand} is not cached.")


def _uncache(machine: Machine, lv: Lv, operand: str) -> Steps:
    cache = lv.cache
    if cache is None:
        return failed(
            f"Command on LV {operand} does not accept LV type linear.",
            f"Command not permitted on LV {operand}.",
        )
    words = yield from _flush(cache, operand)
    # LVM's own spelling. It goes on and succeeds.
    skipped = f"  WARNING: Skippping flush for failed cache {operand}.\n" if cache.failed else ""
    yield 0.5
    _forget_cache(machine, lv)
    gone = said(
        *words, f'Logical volume "{cache.pool.name}" successfully removed.',
        f"Logical volume {operand} is not cached.",
    )  # fmt: skip
    return CommandResult(gone.rc, gone.stdout, skipped)


def _forget_cache(machine: Machine, lv: Lv) -> None:
    cache = lv.cache
    if cache is None:
        raise ModelGap(f"{lv.name} has no cache")
    lv.runs, lv.layout, lv.cache = cache.origin.runs, "linear", None
    lv.vg.lvs.remove(cache.origin)
    group.forget(lv.vg, cache.pool)
    machine.changed(lv.vg, commits=2)
