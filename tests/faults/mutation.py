"""The product with one guard taken out, to prove that the suite would notice: the fence, the
memory of operation ids, or the look at the host after a command. Only in the suite's processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from storage.agent.operations import execute

MUTATIONS = ("fence", "dedup", "postcondition")


def mutate_agent() -> None:
    """Let fake hosts with `mutation` "postcondition" believe every exit code; the other two are
    done by `FaultHost` itself."""
    genuine: Callable[[Any, Any], bool] = execute.settled

    def settled(view: Any, call: Any) -> bool:
        return getattr(view.host, "mutation", "") == "postcondition" or genuine(view, call)

    execute.settled = settled


def mutate_worker(name: str) -> None:
    """Let this worker process plan once per job and then walk through, without looking again."""
    if name != "postcondition":
        return
    from jobs.engine import runner

    genuine: Callable[..., tuple[Any, ...]] = runner.remaining_steps
    plans: list[tuple[Any, ...]] = []

    def left(*args: Any) -> tuple[Any, ...]:
        plans.append(genuine(*args) if not plans else plans[-1][1:])
        return plans[-1]

    runner.remaining_steps = left
