"""docker-compose.yml gives each container no more than it needs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobs.models import PartKind
from panel.configuration import gunicorn

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert isinstance(loaded, dict)
    return loaded


@pytest.fixture(scope="module")
def services(compose: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = compose["services"]
    return found


def test_no_container_gains_rights_or_writes_to_its_image(
    services: dict[str, dict[str, Any]],
) -> None:
    for name, service in services.items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["read_only"] is True and "/tmp" in service["tmpfs"], name
        assert service["pids_limit"] and service["mem_limit"], name


def test_postgresql_has_a_connection_for_each_thread_also_of_a_second_worker(
    services: dict[str, dict[str, Any]],
) -> None:
    def number(command: str, option: str) -> int:
        [found] = re.findall(rf"{option}[ =](\d+)", command)
        return int(found)

    # Two more of each: for its signs of life, and to look for due jobs while Redis is away.
    slots = sum(
        number(services[name]["command"], "--concurrency") + 2
        for name in ("worker", "housekeeping", "collector")
    )
    web = gunicorn.workers * gunicorn.threads
    allowed = number(services["db"]["command"], "max_connections")
    assert web + 2 * slots + 20 <= allowed


def test_each_container_is_asked_whether_its_own_part_is_alive(
    services: dict[str, dict[str, Any]],
) -> None:
    for name in PartKind.values:
        service = services[name]
        assert service["healthcheck"]["test"] == ["CMD", "python", "manage.py", "alive", name]
        if name != "beat":
            assert f"--hostname {name}@%h" in service["command"], "by which it is looked for"


def test_only_postgresql_begins_as_root_to_own_its_folder(
    services: dict[str, dict[str, Any]],
) -> None:
    assert {name for name, service in services.items() if "cap_add" in service} == {"db"}
    assert services["redis"]["user"] == "redis"
    assert re.search(r"(?m)^USER tiercel$", (ROOT / "Dockerfile").read_text())


def test_the_password_of_redis_is_no_argument_of_a_process(
    services: dict[str, dict[str, Any]],
) -> None:
    command = services["redis"]["command"]
    assert "--requirepass" not in command
    assert command.count("REDISCLI_AUTH") == 1 and command.index("printf") < command.index("exec")


def test_each_reaches_what_it_needs_and_the_stores_reach_nothing(
    compose: dict[str, Any], services: dict[str, dict[str, Any]]
) -> None:
    reached = {name: set(service["networks"]) for name, service in services.items()}
    every = {"data", "messages", "outside"}
    assert reached == {
        "db": {"data"},
        "redis": {"messages"},
        "migrate": {"data"},
        "beat": {"data", "messages"},
        **dict.fromkeys(("web", "worker", "housekeeping", "collector"), every),
    }
    internal = {name for name, each in compose["networks"].items() if (each or {}).get("internal")}
    assert internal == {"data", "messages"}


def test_passwords_of_other_servers_are_for_those_that_use_them(
    services: dict[str, dict[str, Any]],
) -> None:
    who: dict[str, set[str]] = {}
    for service, described in services.items():
        for name in described["environment"]:
            who.setdefault(name, set()).add(service)
    at_work = {"web", "worker", "housekeeping", "collector"}
    for name in ("TIERCEL_SMTP_PASSWORD", "TIERCEL_BILLING_SECRETS", "TIERCEL_BILLING_IN_SECRETS"):
        assert who[name] == at_work, name
    assert who["REDIS_URL"] == at_work | {"beat"}
    assert who["TIERCEL_HOST_KEYS_SECRET"] == {"worker", "collector"}
    assert who["DATABASE_OWNER_URL"] == {"migrate"}


def test_ports_are_published_on_loopback_alone(services: dict[str, dict[str, Any]]) -> None:
    published = [port for service in services.values() for port in service.get("ports", [])]
    assert published and all(port.startswith("127.0.0.1:") for port in published)


def test_whether_a_proxy_is_trusted_is_not_guessed(services: dict[str, dict[str, Any]]) -> None:
    assert services["web"]["environment"]["TIERCEL_TRUST_PROXY"].startswith(
        "${TIERCEL_TRUST_PROXY:?"
    )


def test_every_image_can_be_pinned_by_its_digest(services: dict[str, dict[str, Any]]) -> None:
    named = {services[name]["image"] for name in ("db", "redis")}
    build = services["web"]["build"]["args"]
    named |= set(build.values())
    pinned = dict(re.match(r"\$\{(\w+):-(.+)\}", each).groups() for each in named)  # type: ignore[union-attr, misc]
    assert len(pinned) == 4
    made = re.search(r"(?m)^digests:\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text())
    assert made is not None
    for name, image in pinned.items():
        assert f"{name}={image}" in made[1], name
    for arg in build:
        assert re.search(rf"(?m)^FROM \$\{{{arg}\}}", (ROOT / "Dockerfile").read_text()), arg
