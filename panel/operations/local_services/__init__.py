"""PostgreSQL and Redis of this checkout: real servers, no root needed, started and stopped here.

Imports nothing of Django, because the settings ask this package where the servers are.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from panel.operations.local_services.place import Place, ServiceError
from panel.operations.local_services.postgres import Postgres
from panel.operations.local_services.redis import Redis

Service = Postgres | Redis
CHECKOUT = Path(__file__).resolve().parents[3]

__all__ = [
    "CHECKOUT",
    "Place",
    "Service",
    "ServiceError",
    "every_service",
    "here",
    "start",
    "stop",
    "wanted",
]


def here() -> Place:
    """Return the place of the checkout with this code."""
    return Place(CHECKOUT)


def every_service(place: Place | None = None) -> list[Service]:
    """Return the services in the order of starting."""
    place = place or here()
    return [Postgres(place), Redis(place)]


def wanted(environment: Mapping[str, str]) -> list[Service]:
    """Return the services that no URL in the environment replaces."""
    replaced = {"postgresql": "DATABASE_URL", "redis": "REDIS_URL"}
    return [service for service in every_service() if not environment.get(replaced[service.name])]


def start_services(services: Iterable[Service]) -> list[Service]:
    """Start those that do not run, wait until they answer, return the ones started now."""
    started = []
    for service in services:
        service.place.make()
        if not service.is_running():
            service.start()
            started.append(service)
        if not service.is_healthy():
            raise ServiceError(f"{service.name} runs but does not answer; see {service.log_path}")
    return started


def stop(services: Iterable[Service]) -> list[Service]:
    """Stop those that run, return them."""
    running = [service for service in services if service.is_running()]
    for service in running:
        service.stop()
    return running
