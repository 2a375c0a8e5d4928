"""Risks on a host: problems that its agent reported, and those in the inventory. Pure."""

from __future__ import annotations

from storage.health.host_problems import ORDER, HostProblem, reported_problems
from storage.inventory.facts import HostFacts
from storage.models import Host
from storage.planner.technologies.lookup import TECHNOLOGIES


def risks_of(host: Host, facts: HostFacts | None) -> tuple[HostProblem, ...]:
    """The worst first."""
    problems = list(reported_problems(host))
    if facts is not None:
        problems += [
            HostProblem(*risk)
            for lv in facts.lvs
            for technology in TECHNOLOGIES
            for risk in technology.risks(facts, lv)
        ]
    return tuple(sorted(problems, key=lambda problem: ORDER[problem.severity]))
