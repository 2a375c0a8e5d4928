"""pool.create and pool.remove."""

from __future__ import annotations

from ..calls import names
from ..calls.call import VerbCall, arguments
from ..calls.refusals import Refusal
from ..commands import free_space, provenance, vacated_extents
from ..commands.command import (
    MADE_POOL,
    OURS,
    WIPE,
    ZEROED,
    ZEROING,
    Args,
    Command,
    device,
    lvcreate,
    run,
    volume_tag,
    zero,
)
from ..facts.view import LOOK_AGAIN, Check, Facts, View, lv_subject, space_subject
from ..guests.usage_checks import unused
from . import checks
from .clear import noted
from .verb import NOTHING, Estimate, Frees, LongWork, Takes, Trait, Verb

KIB = 1024
# What LVM writes about a pool: a cached volume is five LVs of about 390 bytes.
TEXT_BYTES = 2000


def _create_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    pool = view.find_lv(call.args["vg"], call.args["name"])
    if pool is None:
        return None
    if checks.is_idle_pool(pool):
        return NOTHING
    convert = frozenset(("convert",))
    return convert if ZEROED in pool["tags"] else convert | {"zero", "zeroed"}


def is_unfinished(lv: Facts) -> bool:
    """The data part of a pool to be: a volume of its own until it is zeroed."""
    return MADE_POOL in lv["tags"] and lv["layout"] == ["linear"]


def _fresh(view: View, call: VerbCall) -> Check:
    """As checks.fresh_name. LVM gives a pool a new uuid: that of what it was made of, which may be
    expected, is below it by then."""

    def check() -> None:
        expect = dict(call.expect)
        data = view.find_lv(call.args["vg"], f"{call.args['name']}_cdata")
        if data is not None and data["uuid"] == expect.get("lv_uuid"):
            del expect["lv_uuid"]
        checks.fresh_name(view, VerbCall(call.verb, call.args, expect), MADE_POOL)()

    return check


def _kind(view: View, call: VerbCall) -> Check:
    """What has the name is a zeroed pool or is to become one, not something else of the same size
    with our tags."""

    def check() -> None:
        pool = view.find_lv(call.args["vg"], call.args["name"])
        if pool is None or is_unfinished(pool):
            return
        if not checks.is_idle_pool(pool):
            raise Refusal(
                "already_exists",
                f"{pool['name']} is no cache pool.",
                "Take another name.",
                subject=lv_subject(call.args["vg"], call.args["name"]),
            )
        demand_zeroed(pool)

    return check


def _not_attached(view: View, call: VerbCall) -> Check:
    """An attached pool is hidden under `NAME_cpool`; a second one of its name would be lost."""

    def check() -> None:
        name = call.args["name"]
        hidden = view.find_lv(call.args["vg"], f"{name}_cpool")
        if hidden is not None:
            raise Refusal(
                "already_exists",
                f"The pool {name} is the cache of a volume.",
                "Take another name.",
                subject=lv_subject(call.args["vg"], name),
            )

    return check


def demand_zeroed(pool: Facts) -> None:
    """Raises Refusal(not_fresh) for a pool whose data part was not zeroed. dm-cache copies no block
    that the guest has discarded: the guest would read what lies on the SSD."""
    if ZEROED not in pool["tags"]:
        raise Refusal(
            "not_fresh",
            f"The cache pool {pool['name']} was never zeroed: a guest could read in it what lay on "
            "the SSD before.",
            "Remove it (pool.remove) and create it anew.",
            subject=lv_subject(pool["vg_name"], pool["name"]),
        )


def _chunks(view: View, call: VerbCall) -> Check:
    def check() -> None:
        size, chunk = call.args["size_bytes"], call.args["chunk_kib"] * KIB
        if size % chunk or size < chunk:
            raise Refusal(
                "bad_request",
                f"size_bytes must be a multiple of the chunk size {chunk}.",
                "Round the size up to whole chunks.",
            )
        if size // chunk > free_space.MAX_CHUNKS:
            least = -(-size // free_space.MAX_CHUNKS)
            kib = -(-least // (32 * KIB)) * 32
            raise Refusal(
                "unsupported",
                f"A cache pool has at most {free_space.MAX_CHUNKS} chunks; this one would have "
                f"{size // chunk}.",
                f"Use chunks of at least {kib} KiB.",
            )

    return check


def _space(view: View, call: VerbCall) -> Check:
    def check() -> None:
        vg = view.vg(call.args["vg"])
        spare = sum(
            lv["size_bytes"]
            for lv in view.facts["lvs"]
            if lv["vg_uuid"] == vg["uuid"] and lv["name"].endswith("_pmspare")
        )
        extra = free_space.pool_overhead(
            call.args["size_bytes"], call.args["chunk_kib"] * KIB, vg["extent_bytes"], spare
        )
        free_space.space(view, call, extra)()

    return check


def _create_state(view: View, call: VerbCall) -> list[Check]:
    if (pool := view.find_lv(call.args["vg"], call.args["name"])) is not None:
        return [unused(view, VerbCall(call.verb, {**call.args, "lv": pool["name"]}, {}))]
    return [
        free_space.whole_extents(view, call),
        free_space.described(view, call, TEXT_BYTES),
        _chunks(view, call),
        _space(view, call),
    ]


def _create_commands(args: Args) -> tuple[Command, ...]:
    """The data part is zeroed as a volume of its own, which LVM then makes a pool of."""
    vg, pool = args["vg"], f"{args['vg']}/{args['name']}"
    convert = ("lvconvert", "-y", "--type", "cache-pool", "--chunksize", f"{args['chunk_kib']}k")
    return (
        lvcreate(args, WIPE, marks=[MADE_POOL, ZEROING]),
        zero(device(vg, args["name"])),
        run("zeroed", "lvchange", "--deltag", ZEROING, "--addtag", ZEROED, pool),
        run("convert", *convert, pool, *(f"/dev/{pv}" for pv in args["pvs"])),
    )


CREATE = Verb(
    name="pool.create",
    title="Create a cache pool",
    arguments=arguments(
        {
            "name": names.made("c"),
            "size_bytes": names.size_bytes,
            "pvs": names.devices,
            "chunk_kib": names.integer(32, 1 << 20, 32),
            "volume_key": names.volume_key,
        }
    ),
    commands=_create_commands,
    identity=lambda view, call: [
        checks.vg(view, call),
        checks.vg_whole(view, call),
        _fresh(view, call),
        _kind(view, call),
        _not_attached(view, call),
    ],
    todo=_create_todo,
    state=_create_state,
    touches=lambda args: frozenset([lv_subject(args["vg"], args["name"])]),
    provides=lambda args: {lv_subject(args["vg"], args["name"]): args["pvs"]},
    estimate=Estimate(4, 2, work=LongWork.ZERO_NEW, takes=Takes.POOL),
    traits=(
        Trait.LASTING,
        Trait.ABORTABLE,
        Trait.SPARES_HOST,
    ),
    programs=("cache_check",),
    text_bytes=TEXT_BYTES,
    mark=MADE_POOL,
)


def _remove_identity(view: View, call: VerbCall) -> list[Check]:
    to_check = [checks.vg(view, call), checks.vg_whole(view, call)]
    if gone(view, call, call.args["pool"]):
        return to_check
    pool = call.args["pool"]
    to_check += [
        _hidden(view, call),
        checks.known_lv(view, call, pool),
        provenance.made(view, call.args["vg"], pool, MADE_POOL),
    ]
    return [*to_check, _of_volume(view, call)] if "lv" in call.args else to_check


def _of_volume(view: View, call: VerbCall) -> Check:
    """What the pool held is noted on the volume that it was made for, and on no other."""

    def check() -> None:
        lv, pool = (view.lv(call.args["vg"], call.args[name]) for name in ("lv", "pool"))
        keys = {each for each in pool["tags"] if each.startswith(volume_tag(""))}
        if OURS not in lv["tags"] or not keys & set(lv["tags"]):
            raise Refusal(
                "not_ours",
                f"{pool['name']} was not made for {lv['vg_name']}/{lv['name']}.",
                LOOK_AGAIN,
                subject=checks.subject(call),
            )

    return check


def _hidden(view: View, call: VerbCall) -> Check:
    """A pool at work is hidden under another name; removing that would uncache its volume."""

    def check() -> None:
        pool = call.args["pool"]
        if view.find_lv(call.args["vg"], f"{pool}_cpool") is not None:
            raise Refusal(
                "in_use",
                f"The pool {pool} is the cache of a volume.",
                "Detach it from its volume: that removes it (cache.detach).",
                subject=lv_subject(call.args["vg"], pool),
            )

    return check


def gone(view: View, call: VerbCall, name: str) -> bool:
    """Neither the name (nor that of a pool at work) nor the uuid is there: a renamed volume is
    not a removed one."""
    checks.vg(view, call)()
    vg = call.args["vg"]
    named = view.find_lv(vg, name) or view.find_lv(vg, f"{name}_cpool")
    if "lv_uuid" not in call.expect or named is not None:
        return False
    return view.lv_by_uuid(call.expect["lv_uuid"]) is None


def _remove_todo(view: View, call: VerbCall) -> frozenset[str] | None:
    if gone(view, call, call.args["pool"]):
        return NOTHING
    remove = frozenset(("remove",))
    # No volume has had anything of a pool that is not finished.
    is_used = not is_unfinished(view.lv(call.args["vg"], call.args["pool"]))
    return remove | noted(view, call) if is_used else remove


def _idle(view: View, call: VerbCall) -> Check:
    def check() -> None:
        pool = view.lv(call.args["vg"], call.args["pool"])
        checks.no_cache_of(view, pool)
        if not checks.is_idle_pool(pool) and not is_unfinished(pool):
            raise Refusal(
                "in_use",
                f"{pool['name']} is no idle cache pool.",
                "Detach the cache from its volume first.",
                subject=lv_subject(call.args["vg"], call.args["pool"]),
            )

    return check


def _remove_commands(args: Args) -> tuple[Command, ...]:
    vg, pool = args["vg"], args["pool"]
    remove = run("remove", "lvremove", "-y", f"{vg}/{pool}")
    if "lv" not in args:
        return (remove,)
    return (
        vacated_extents.note_vacated(vg, args["lv"], (f"{pool}_cdata", f"{pool}_cmeta")),
        remove,
    )


REMOVE = Verb(
    name="pool.remove",
    title="Remove an idle cache pool",
    arguments=arguments({"pool": names.made("c")}, {"lv": names.lv_name}, expects="lv_uuid"),
    commands=_remove_commands,
    identity=_remove_identity,
    todo=_remove_todo,
    state=lambda view, call: [_idle(view, call)],
    touches=lambda args: frozenset(
        [lv_subject(args["vg"], args["pool"]), space_subject(args["vg"])]
    ),
    estimate=Estimate(1, 1, frees=Frees.NAMED),
    traits=(Trait.LEAVES_DATA,),
)
