"""Database URLs."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from panel.databases import database


def test_a_url_with_host_port_and_options() -> None:
    entry = database("postgresql://ann:p%40ss@db.example:5433/tiercel?sslmode=require")
    assert (entry["USER"], entry["PASSWORD"]) == ("ann", "p@ss")
    assert (entry["HOST"], entry["PORT"], entry["NAME"]) == ("db.example", "5433", "tiercel")
    assert entry["OPTIONS"] == {"sslmode": "require"}


def test_a_url_that_names_a_socket_folder() -> None:
    entry = database("postgresql://ann@/tiercel?host=%2Ftmp%2Fx")
    assert (entry["HOST"], entry["PORT"], entry["OPTIONS"]) == ("/tmp/x", "", {})  # noqa: S108


@pytest.mark.parametrize("url", ["sqlite:///x.db", "mysql://h/x", "postgresql://host", "x"])
def test_anything_but_a_postgresql_database_is_refused(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="only PostgreSQL"):
        database(url)
