"""Each task runs in a worker that has what it needs: only some of them have the keys of hosts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import pytest
from celery import current_app
from django.conf import settings

import jobs.tasks
import panel.tasks
from jobs.transport import key_encryption

OURS = ("jobs.", "panel.", "storage.")
TASK_MODULES = (jobs.tasks, panel.tasks)
OF_COLLECTOR = {"jobs.tasks.stream_live"} | {
    entry["task"]
    for entry in settings.CELERY_BEAT_SCHEDULE.values()
    if entry["options"].get("queue", "").startswith("collect.")
}
"""Their sender names the queue: one for each share of the hosts."""
WITH_KEYS = {"jobs", "hosts"}


def names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def named_by(function: Callable[..., Any]) -> Iterator[Any]:
    """What the function can call: its global names, and attributes of the modules among them."""
    names = list(names_in(function.__code__))
    for name in names:
        found = function.__globals__.get(name)
        yield found
        if inspect.ismodule(found) and found.__name__.startswith(OURS):
            yield from (getattr(found, other, None) for other in names)


def reaches(start: Callable[..., Any], target: Callable[..., Any]) -> bool:
    """Whether a call of `start` may end in one of `target`. Too often rather than too seldom: what
    a function names counts as called, and a class as all of its methods."""
    seen, left = set[Any](), [start]
    while left:
        each = inspect.unwrap(left.pop())
        module = getattr(each, "__module__", None) or ""
        if not module.startswith(OURS):
            continue
        if inspect.isclass(each) and each not in seen:
            methods = (getattr(value, "__func__", value) for value in vars(each).values())
            left += [found for found in methods if inspect.isfunction(found)]
            seen.add(each)
        elif inspect.isfunction(each) and each not in seen:
            left += [found for found in named_by(each) if callable(found)]
            seen.add(each)
    return target in seen


def tasks() -> dict[str, Callable[..., Any]]:
    names = {module.__name__ for module in TASK_MODULES}
    registered = current_app.tasks.items()
    return {name: task.run for name, task in registered if name.rpartition(".")[0] in names}


@pytest.mark.parametrize("name", sorted(tasks()))
def test_what_talks_to_hosts_runs_where_their_keys_are_and_nothing_else_does(name: str) -> None:
    queue = settings.CELERY_TASK_ROUTES.get(name, {}).get("queue", "")
    has_keys = queue in WITH_KEYS or name in OF_COLLECTOR
    assert reaches(tasks()[name], key_encryption.unseal) == has_keys
