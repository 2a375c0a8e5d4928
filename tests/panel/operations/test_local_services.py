"""The embedded services: real servers in a checkout of their own."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import psycopg
import pytest
from django.core.management import call_command

from panel.operations import local_services
from panel.operations.local_services import Place, ServiceError
from panel.operations.local_services.postgres import Postgres
from panel.operations.local_services.redis import Redis


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path / "a checkout")
    yield place
    local_services.stop(local_services.every_service(place))
    if place.sockets.is_dir() and not place.sockets.is_symlink():
        place.sockets.rmdir()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster that was started once and stopped; making one takes seconds."""
    place = Place(tmp_path_factory.mktemp("made"))
    postgres = Postgres(place)
    local_services.start_services([postgres])
    local_services.stop([postgres])
    place.sockets.rmdir()
    return postgres.data


@pytest.fixture
def postgres(place: Place, made: Path) -> Postgres:
    """The server of a checkout that was in use before."""
    place.make()
    postgres = Postgres(place)
    shutil.copytree(made, postgres.data)
    return postgres


def test_two_checkouts_have_different_sockets_short_enough_for_the_kernel(tmp_path: Path) -> None:
    one, other = Place(tmp_path / "one" / ("x" * 200)), Place(tmp_path / "other")
    assert one.sockets != other.sockets
    assert len(str(one.sockets / ".s.PGSQL.5432.lock")) < 108


def test_a_later_command_knows_where_the_panel_listens(tmp_path: Path) -> None:
    here = Place(tmp_path)
    assert here.last_port() == 8000
    here.remember_port(8123)
    assert Place(tmp_path).last_port() == 8123
    for nonsense in ("", "x", "0", "70000"):
        (here.var / "port").write_text(nonsense)
        assert here.last_port() == 8000


def test_the_first_admins_link_leads_to_the_port_of_the_panel() -> None:
    here, place = dict(os.environ), local_services.here()
    for name in ("PORT", "TIERCEL_PUBLIC_URL"):
        here.pop(name, None)
    code = "from django.conf import settings; print(settings.TIERCEL_PUBLIC_URL)"
    run = [sys.executable, "-c", code]
    settings = {"DJANGO_SETTINGS_MODULE": "panel.settings"}
    said = subprocess.run(
        run, cwd=place.checkout, env=here | settings, capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == f"http://localhost:{place.last_port()}"


def test_start_answers_and_a_second_start_changes_nothing(place: Place) -> None:
    services = local_services.every_service(place)
    assert local_services.start_services(services) == services
    assert local_services.start_services(services) == []
    with psycopg.connect(place.database_url("tiercel_app")) as app:
        assert app.execute("SELECT current_user").fetchone() == ("tiercel_app",)


def test_the_app_may_use_what_the_owner_makes_but_not_change_it(
    place: Place, postgres: Postgres
) -> None:
    local_services.start_services([postgres])
    with psycopg.connect(place.database_url("tiercel_owner")) as owner:
        owner.execute("CREATE TABLE made (n bigserial, what text)")
        owner.execute("CREATE FUNCTION one() RETURNS int LANGUAGE sql RETURN 1")
    with psycopg.connect(place.database_url("tiercel_app"), autocommit=True) as app:
        app.execute("INSERT INTO made (what) VALUES ('x')")
        app.execute("UPDATE made SET what = 'y'")
        assert app.execute("SELECT n, what, one() FROM made").fetchone() == (1, "y", 1)
        app.execute("DELETE FROM made")
        for refused in ("TRUNCATE made", "DROP TABLE made", "CREATE TABLE mine (n int)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                app.execute(refused)


def test_data_outlives_a_stop(place: Place, postgres: Postgres) -> None:
    local_services.start_services([postgres])
    with psycopg.connect(place.database_url("tiercel_owner")) as owner:
        owner.execute("CREATE TABLE kept (n int)")
    assert local_services.stop([postgres]) == [postgres]
    assert not postgres.is_running()
    local_services.start_services([postgres])
    with psycopg.connect(place.database_url("tiercel_app")) as app:
        assert app.execute("SELECT count(*) FROM kept").fetchone() == (0,)


def test_stop_where_nothing_runs_does_nothing(place: Place) -> None:
    assert local_services.stop(local_services.every_service(place)) == []


def test_a_failed_start_shows_the_end_of_the_log(postgres: Postgres) -> None:
    (postgres.data / "postgresql.conf").write_text("max_connections = many\n")
    with pytest.raises(ServiceError, match="invalid value for parameter"):
        postgres.start()


def test_data_of_another_version_is_refused_with_a_way_out(postgres: Postgres) -> None:
    (postgres.data / "PG_VERSION").write_text("9\n")
    with pytest.raises(ServiceError, match=r"made by PostgreSQL 9.*pg_dump"):
        postgres.start()


def test_a_socket_folder_open_to_others_is_refused(place: Place) -> None:
    place.sockets.mkdir(mode=0o700)
    place.sockets.chmod(0o755)
    with pytest.raises(ServiceError, match="open to others"):
        local_services.start_services([Redis(place)])


def test_a_socket_folder_that_is_a_link_is_refused(place: Place, tmp_path: Path) -> None:
    place.sockets.symlink_to(tmp_path)
    try:
        with pytest.raises(ServiceError, match="not a folder of this user"):
            local_services.start_services([Redis(place)])
    finally:
        place.sockets.unlink()


def test_the_services_command_tells_and_needs_no_database() -> None:
    output = StringIO()
    call_command("services", "status", stdout=output)
    assert output.getvalue().splitlines() == ["postgresql: running", "redis: running"]
