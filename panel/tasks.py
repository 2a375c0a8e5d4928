"""Celery's entries of the panel. Messages are hints: each task does what the database says is
due."""

from __future__ import annotations

from celery import shared_task

from panel.orders import settle


@shared_task
def sweep_orders() -> None:
    settle.sweep()
