"""docs/faults.md: every fault, what was expected, what happened, how long recovery took."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from panel.operations.local_services import CHECKOUT
from tests.faults.fault import Outcome

PATH = CHECKOUT / "docs" / "faults.md"
INTRODUCTION = """\
# The fault suite

Written by `make faults`; do not edit. Each line is one run of a whole job, through real PostgreSQL,
worker processes and SSH, with one thing broken at one exact moment: on a simulated storage host
(stateful models of LVM and bcache under the agent's own code), or in the lab, a
Debian machine with a real kernel, LVM, bcache, udev and sshd, whose processor is emulated and whose
disks lie on layers that can be broken. Leases last 3 s here and pauses 4 s.

Survived means that all of this holds afterwards:

- the job is done, undone, or before a person who is told what is left; never silently lost;
- no operation id was executed twice, and no two LVM commands changed a volume group at once;
- turns in a volume group were accepted in rising order;
- volumes of strangers keep uuid, size, tags, place and content, and every extent that a guest had
  written to the volume is still there;
- a job that says “failed” left everything as it was before;
- a job that says “succeeded” left the host as wished and nothing over;
- every operation the host accepted has one intent and one outcome in the audit trail;
- all this within 60 s of the fault, or, in the lab, of the moment when the host is whole again (a
  backlog of 20 to 200 jobs, and a job after a restart in the lab, may take longer).
"""


def write(
    outcomes: Sequence[Outcome],
    red: Mapping[str, list[str]],
    not_played: Mapping[str, str],
    every: int = 1,
    path: Path = PATH,
) -> dict[str, object]:
    """Write the document, return the summary of the last line. `every`: of the sweep, only each
    fault of that distance was played."""
    counted = [outcome for outcome in outcomes if outcome.reached]
    survived = sum(outcome.survived for outcome in counted)
    summary: dict[str, object] = {
        "total": len(counted),
        "survived": survived,
        "by_id": _by_id(counted),
        "mutation_red": sum(bool(problems) for problems in red.values()),
        "max_recovery_s": round(max((o.recovery_s for o in counted), default=0.0), 1),
    }
    parts = [
        INTRODUCTION,
        f"**{survived} of {len(counted)} faults survived**, the slowest recovery took "
        f"{summary['max_recovery_s']} s.\n",
        "## Named faults\n",
        _table([each for each in counted if each.fault.id and not each.fault.in_lab]),
        "## Named faults in the lab\n",
        _table([each for each in counted if each.fault.in_lab]),
        "## The sweep\n",
        "Each operation was broken at each point it passes: `kill` (SIGKILL), `raise` (an exception"
        "\nnobody foresaw, or a full disk on the host), `pause` (longer than a lease), `drop` (the"
        "\ndatabase connection is gone). “#2” is the second time the point was passed.\n",
        f"Played was every {every}th of them.\n" if every > 1 else "",
        _table([outcome for outcome in counted if not outcome.fault.id]),
        "## The suite itself\n",
        "With one guard taken out, the suite must turn red:\n",
        _mutations(red),
    ]
    if not_played:
        parts += ["## Not played here\n", _not_played(not_played)]
    path.write_text("\n".join(parts))
    return summary


def last_line(summary: Mapping[str, object]) -> str:
    return f"FAULTS {json.dumps(summary)}"


def _by_id(outcomes: Sequence[Outcome]) -> dict[str, str]:
    found: dict[str, list[bool]] = {}
    for outcome in outcomes:
        found.setdefault(outcome.fault.id or "sweep", []).append(outcome.survived)
    return {name: f"{sum(each)}/{len(each)}" for name, each in sorted(found.items())}


def _table(outcomes: Sequence[Outcome]) -> str:
    rows = ["| Fault | Expected | Happened | Recovery |", "|---|---|---|---|"]
    for outcome in outcomes:
        fault = outcome.fault
        name = f"{fault.id} {fault.name}".strip()
        happened = outcome.happened if outcome.survived else _lost(outcome)
        cells = (name, fault.expected, happened, f"{outcome.recovery_s:.1f} s")
        rows.append("| " + " | ".join(_cell(each) for each in cells) + " |")
    return "\n".join(rows) + "\n"


def _lost(outcome: Outcome) -> str:
    # Without the trace of a fault that could not be played: it names this machine's folders.
    problems = [problem.partition("\nTraceback")[0] for problem in outcome.problems]
    return f"**NOT SURVIVED** {outcome.happened}: {'; '.join(problems)}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")[:600]


def _mutations(red: Mapping[str, list[str]]) -> str:
    rows = ["| Taken out | Result | Noticed |", "|---|---|---|"]
    for name, problems in red.items():
        result = "red" if problems else "**GREEN: the suite is blind to it**"
        rows.append(f"| {name} | {result} | {_cell('; '.join(problems))} |")
    return "\n".join(rows) + "\n"


def _not_played(reasons: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: {why}" for name, why in reasons.items()) + "\n"
