"""Refreshes a host: a new hello and inventory, and the problems that only the panel can see."""

from __future__ import annotations

import logging
import re
from datetime import datetime
from typing import Any

import msgspec

from jobs.hosts import contact, panel_identity
from jobs.hosts.read_inventory import read_facts
from jobs.hosts.retirement_clock import LIMIT_SECONDS, seconds_off
from jobs.hosts.trust import check_machine
from jobs.models.media_check import follow_arrays
from jobs.transport.errors import AgentFailed, BadReply, TransportError
from jobs.transport.replies import TEXT_LIMIT, Reply, to_json
from storage.agent import VERSION
from storage.database_clock import database_now
from storage.discovery.ingest import apply_hello
from storage.host_data import BadHostData, decoded
from storage.models import Host
from storage.naming import AGENT_PATH

log = logging.getLogger(__name__)

PROBLEMS_LIMIT = 50
SUBJECT_LIMIT = 255
AGENT_VERSION = re.compile(r"\d{1,6}(\.\d{1,6}){0,3}", re.ASCII)


class ReportedProblem(msgspec.Struct, frozen=True):
    """A problem as the agent reports it; an older agent names no subject."""

    code: str
    severity: str
    message: str
    correction: str
    subject: str = ""


class ChangePolicy(msgspec.Struct, frozen=True):
    """The volume groups that root on the host lets Tiercel change."""

    vgs: tuple[str, ...]


class Hello(msgspec.Struct, frozen=True):
    """What the panel reads of the agent's `hello`."""

    problems: tuple[ReportedProblem, ...]
    policy: ChangePolicy


def refresh(host: Host) -> bool:
    """Ask for hello, then the inventory; False where that came to nothing, and the host's record
    then says why."""
    try:
        before = database_now()
        reply = contact.ask(host, "hello")
        if reply.error is not None:
            raise AgentFailed(host.name, reply.error)
        check_machine(host, reply.data.get("machine_id"))
        after = database_now()
        problems = [*_reported_problems(host, reply), *_observed_problems(reply, before, after)]
        apply_hello(host, reply.data, problems, after)
        facts = read_facts(host)
        follow_arrays(host, facts, database_now())
    except TransportError as error:
        log.warning("refresh of host %s: %s", host.name, error)
        contact.note_failure(host, error)
        Host.objects.filter(pk=host.pk).update(refresh_error=error.to_json())
        return False
    Host.objects.filter(pk=host.pk).exclude(refresh_error={}).update(refresh_error={})
    return True


def _reported_problems(host: Host, reply: Reply) -> list[dict[str, str]]:
    """The agent's own problems, checked as everything of hello that is read again."""
    try:
        hello = decoded(reply.data, Hello, "hello", TEXT_LIMIT)
    except BadHostData as error:
        raise BadReply(host.name, str(error)) from None
    problems = to_json(hello.problems[:PROBLEMS_LIMIT])
    return [{**each, "subject": each["subject"][:SUBJECT_LIMIT]} for each in problems]


def _observed_problems(reply: Reply, before: datetime, after: datetime) -> list[dict[str, str]]:
    """What the answer itself shows: an old agent, a wrong clock, a policy that forbids change."""
    problems = []
    if _version(reply.data.get("agent")) < _version(VERSION):
        problems.append(
            _problem(
                "agent_old",
                "warning",
                f"The agent ({reply.data.get('agent', 'unknown')!s:.20}) is older than the panel's "
                f"({VERSION}): it may refuse what the panel asks for now.",
                "Run a new enrolment command on the host. It upgrades the agent.",
            )
        )
    wall_ns = reply.stamp.get("wall_ns")
    off_seconds = seconds_off(wall_ns, before, after)
    if abs(off_seconds) > LIMIT_SECONDS:
        problems.append(
            _problem(
                "clock_off",
                "warning",
                f"The host's clock is {abs(off_seconds):.0f} s "
                f"{'ahead of' if off_seconds > 0 else 'behind'} the panel's database.",
                "Synchronise its clock, for example: timedatectl set-ntp true",
            )
        )
    problems += _other_panels(reply.data)
    codes = {each["code"] for each in reply.data["problems"][:PROBLEMS_LIMIT]}
    # A file that cannot be read lists no group either, and allow-vg would refuse it.
    if not reply.data["policy"]["vgs"] and "policy_broken" not in codes:
        problems.append(
            _problem(
                "observe_only",
                "info",
                "The host lets Tiercel read, but not change anything.",
                f"As root on the host, for each volume group: {AGENT_PATH} allow-vg NAME",
            )
        )
    return problems


def _other_panels(hello: dict[str, Any]) -> list[dict[str, str]]:
    """Another live panel besides this one, as the host reports it."""
    owner, rival, panel = (
        panel_identity.owner_of(hello),
        panel_identity.rival_of(hello),
        panel_identity.this(),
    )
    ours = {str(panel.panel), *panel.ancestors}
    problems = []
    if owner and owner not in ours:
        problems.append(
            _problem(
                "other_panel",
                "error",
                f"Another panel manages this host: {owner}. {panel_identity.last_seen(hello)} The "
                "host refuses every change from this panel.",
                "Switch one of the two panels off. If this panel should manage the host, run "
                f"there as root: {AGENT_PATH} adopt-panel {panel.panel}",
            )
        )
    if rival and rival not in ours:
        problems.append(
            _problem(
                "rival_panel",
                "warning",
                f"Another panel, {rival}, tried to change this host and was refused. "
                f"{panel_identity.last_seen(hello, 'rival_seen_s')}",
                "Switch the other panel off. It may be an old machine, or a copy restored from a "
                "backup.",
            )
        )
    return problems


def _version(reported: Any) -> tuple[int, ...]:
    """A comparable version; () for an invalid one, which is older than any."""
    known = isinstance(reported, str) and AGENT_VERSION.fullmatch(reported)
    return tuple(int(part) for part in reported.split(".")) if known else ()


def _problem(code: str, severity: str, message: str, correction: str) -> dict[str, str]:
    return {"code": code, "severity": severity, "message": message, "correction": correction}
