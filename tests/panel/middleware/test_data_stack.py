"""Calls within a request cross no end of a chunk of Python's data stack again and again."""

from __future__ import annotations

import resource
from collections.abc import Callable

import pytest
from django.conf import settings
from django.http import HttpRequest, HttpResponse

from panel.middleware import data_stack_middleware

CALLS = 400
DEPTHS = range(240)


def called() -> None:
    pass


# Larger than the frames below it, so that one of the depths ends just before the end of a chunk.
called.__code__ = called.__code__.replace(co_stacksize=64)


def faults_of_a_loop_at(depth: int) -> int:
    """The page faults of a loop of calls so many frames deep: each new chunk is one."""
    if depth:
        return faults_of_a_loop_at(depth - 1)
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for _ in range(CALLS):
        called()
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


def worst(answer: Callable[[HttpRequest], object]) -> int:
    answer(HttpRequest())
    return most[-1]


most: list[int] = []


def look(request: HttpRequest) -> HttpResponse:
    most.append(max(faults_of_a_loop_at(depth) for depth in DEPTHS))
    return HttpResponse()


def test_no_depth_of_a_page_is_slower_than_another() -> None:
    if worst(look) < CALLS / 2:
        pytest.skip("this Python keeps a chunk for the next call")
    assert worst(data_stack_middleware(look)) < CALLS / 10


def test_it_is_the_first_that_a_request_passes() -> None:
    assert settings.MIDDLEWARE[0] == "panel.middleware.data_stack_middleware"
