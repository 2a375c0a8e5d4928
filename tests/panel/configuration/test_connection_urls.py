"""Database URLs."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from panel.configuration.connection_urls import broker, database


def test_a_url_with_host_port_and_options() -> None:
    entry = database("postgresql://ann:p%40ss@db.example:5433/tiercel?sslmode=require")
    assert (entry["USER"], entry["PASSWORD"]) == ("ann", "p@ss")
    assert (entry["HOST"], entry["PORT"], entry["NAME"]) == ("db.example", "5433", "tiercel")
    assert entry["OPTIONS"] == {"sslmode": "require"}


def test_a_url_that_names_a_socket_folder() -> None:
    entry = database("postgresql://ann@/tiercel?host=%2Ftmp%2Fx")
    assert (entry["HOST"], entry["PORT"], entry["OPTIONS"]) == ("/tmp/x", "", {})


@pytest.mark.parametrize("url", ["sqlite:///x.db", "mysql://h/x", "postgresql://host", "x"])
def test_anything_but_a_postgresql_database_is_refused(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="only PostgreSQL"):
        database(url)


def test_celery_is_told_a_redis_socket_in_its_own_spelling() -> None:
    assert broker("unix:///run/r.sock?db=2") == "redis+socket:///run/r.sock?virtual_host=2"
    assert broker("rediss://redis.example:6380/2") == "rediss://redis.example:6380/2"


@pytest.mark.parametrize("url", ["amqp://host", "unix:/run/r.sock", "/run/r.sock", ""])
def test_anything_but_a_redis_address_is_refused(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="REDIS_URL reads"):
        broker(url)
