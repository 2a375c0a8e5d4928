"""From a request and the state of the host to the commands to run, or a refusal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Callable

from ..calls.call import VerbCall
from ..calls.refusals import Refusal
from ..commands.command import CHECK_CACHE, COUNT_READS, REMOVE_SCRATCH, WARM, Command
from ..facts import program_versions
from ..facts.view import Planned, View
from ..kernel.local_host import LocalHost
from ..verbs.registry import VERBS, commands

PACKAGES = {
    "lvcreate": "lvm2",
    "lvchange": "lvm2",
    "lvconvert": "lvm2",
    "lvremove": "lvm2",
    "lvrename": "lvm2",
    "lvextend": "lvm2",
    "pvmove": "lvm2",
    "pvcreate": "lvm2",
    "vgextend": "lvm2",
    "virsh": "libvirt-clients",
    "make-bcache": "bcache-tools",
    "blkdiscard": "util-linux",
    "wipefs": "util-linux",
    "blockdev": "util-linux",
    "fio": "fio",
    "mdadm": "mdadm",
    "modprobe": "kmod",
    "cache_check": "thin-provisioning-tools",
}
# The program whose version counts for what a package brings.
VERSIONED = {"lvm2": "lvm", "util-linux": "util_linux"}
# What the agent does by itself, without a program.
INSIDE = ("write", "qmp", "wait", COUNT_READS, WARM, CHECK_CACHE, REMOVE_SCRATCH)


def assess(view: View, call: VerbCall) -> tuple[Command, ...]:
    """The commands that bring the wished state; () when it is already so. Raises the first
    Refusal."""
    verb = VERBS[call.verb]
    for check in verb.identity(view, call):
        check()
    remaining = _remaining(verb.todo(view, call), call)
    if remaining:
        for check in verb.state(view, call):
            check()
        tools(view.host, call, remaining)
    return remaining


def tools(host: LocalHost, call: VerbCall, remaining: Iterable[Command]) -> None:
    """Raises Refusal(missing_tool | unsupported) unless every program that will be run is
    installed, and new enough."""
    needed = [command.argv[0] for command in remaining if command.argv[0] not in INSIDE]
    needed += VERBS[call.verb].programs
    for tool in needed:
        if not host.has_tool(tool):
            raise Refusal(
                "missing_tool",
                f"{tool} is not installed on this host.",
                f"Install the package {PACKAGES[tool]}.",
            )
    packages = {PACKAGES[tool] for tool in needed if tool in PACKAGES}
    counted = [program for package, program in VERSIONED.items() if package in packages]
    program_versions.check_versions(host, counted)


def preview(host: LocalHost, calls: Sequence[VerbCall]) -> list[dict[str, Any]]:
    """Each step of a dry run: its commands, the checks an earlier step will satisfy, or its
    error. Nothing is changed."""
    planned = Planned()
    view = View(host, planned=planned)
    steps = []
    for call in calls:
        deferred: list[Refusal] = []
        error: Refusal | None = None
        todo = commands(call.verb, call.args)
        try:
            todo = _foresee(view, call, deferred)
        except Refusal as refusal:
            error = refusal
        steps.append(
            {
                "verb": call.verb,
                "commands": [command.to_json() for command in todo],
                "deferred": [
                    {"code": code, "message": message}
                    for code, message in dict.fromkeys(
                        (refusal.code, refusal.message) for refusal in deferred
                    )
                ],
                "error": None
                if error is None
                else {"code": error.code, "message": error.message, "correction": error.correction},
            }
        )
        verb = VERBS[call.verb]
        planned.touched |= verb.touches(call.args)
        planned.pvs.update(verb.provides(call.args))
    return steps


def _foresee(view: View, call: VerbCall, deferred: list[Refusal]) -> tuple[Command, ...]:
    verb = VERBS[call.verb]
    todo = commands(call.verb, call.args)

    def tolerate(check: Callable[[], Any]) -> Any:
        try:
            return check()
        except Refusal as refusal:
            if refusal.subject not in view.planned.touched:
                raise
            deferred.append(refusal)
            return None

    for check in tolerate(lambda: verb.identity(view, call)) or ():
        tolerate(check)
    if not deferred and not verb.touches(call.args) & view.planned.touched:
        todo = _remaining(verb.todo(view, call), call)
    if todo:
        for check in tolerate(lambda: verb.state(view, call)) or ():
            tolerate(check)
        tools(view.host, call, todo)
    return todo


def _remaining(names: frozenset[str] | None, call: VerbCall) -> tuple[Command, ...]:
    every = commands(call.verb, call.args)
    if names is None:
        return every
    return tuple(command for command in every if command.name in names)


def settled(view: View, call: VerbCall) -> bool:
    """Whether the host shows what the verb was to bring: an exit code of 0 does not prove it."""
    verb = VERBS[call.verb]
    return not verb.settled or verb.todo(view, call) == frozenset()
