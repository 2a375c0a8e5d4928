"""Tabs of a page: each is a page with an address of its own under one head."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tab:
    """`count` is shown beside the title; None shows none."""

    name: str
    title: str
    url: str
    count: int | None = None
