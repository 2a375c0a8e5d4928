"""Settings come from variables, files named by variables, and the secrets file, in that order."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from panel.configuration.environment import Environment, broker, database


@pytest.fixture
def env_file(tmp_path: Path) -> Path:
    path = tmp_path / "secrets.env"
    path.write_text("# made once\nKEY=from the file\nURL=https://example.org/?a=b\n")
    return path


def test_a_variable_wins_over_its_file_and_the_secrets_file(env_file: Path, tmp_path: Path) -> None:
    mounted = tmp_path / "mounted"
    mounted.write_text("mounted\n")
    assert Environment(env_file, {"KEY": "set", "KEY_FILE": str(mounted)}).text("KEY") == "set"
    assert Environment(env_file, {"KEY_FILE": str(mounted)}).text("KEY") == "mounted"
    assert Environment(env_file, {}).text("KEY") == "from the file"


def test_an_empty_variable_hides_the_secrets_file(env_file: Path) -> None:
    assert Environment(env_file, {"KEY": ""}).text("KEY", "default") == ""


def test_a_value_may_hold_an_equals_sign(env_file: Path) -> None:
    assert Environment(env_file, {}).text("URL") == "https://example.org/?a=b"


def test_a_missing_secrets_file_is_an_empty_one(tmp_path: Path) -> None:
    assert Environment(tmp_path / "none", {}).text("KEY", "default") == "default"


def test_a_mounted_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    env = Environment(tmp_path / "none", {"KEY_FILE": str(tmp_path / "gone")})
    with pytest.raises(ImproperlyConfigured, match=r"KEY_FILE names .*gone"):
        env.text("KEY")


@pytest.mark.parametrize(("said", "meant"), [("1", True), ("Yes", True), ("off", False)])
def test_flags_are_read_as_people_write_them(tmp_path: Path, said: str, meant: bool) -> None:
    assert Environment(tmp_path, {"F": said}).flag("F") is meant


def test_a_flag_that_is_no_flag_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="F is 'maybe'"):
        Environment(tmp_path, {"F": "maybe"}).flag("F")


@pytest.mark.parametrize("said", ["0", "-3", "ten", "1.5", ""])
def test_a_number_outside_its_range_is_refused(tmp_path: Path, said: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="number from 1 up"):
        Environment(tmp_path, {"N": said}).whole("N", 7, least=1)


@pytest.mark.parametrize("said", ["6", "401", "9999999999"])
def test_a_number_with_an_upper_end_says_so(tmp_path: Path, said: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="number from 7 to 400"):
        Environment(tmp_path, {"N": said}).whole("N", 30, least=7, most=400)


def test_words_are_split_at_commas(tmp_path: Path) -> None:
    assert Environment(tmp_path, {"W": "a.example, b.example,"}).words("W") == [
        "a.example",
        "b.example",
    ]


def test_a_number_may_be_a_fraction_but_neither_negative_nor_none(tmp_path: Path) -> None:
    assert Environment(tmp_path, {"N": "0.001"}).number("N", 7) == 0.001
    assert Environment(tmp_path, {}).number("N", 7) == 7
    for said in ("-1", "nan", "inf", "soon"):
        with pytest.raises(ImproperlyConfigured, match="number from 0"):
            Environment(tmp_path, {"N": said}).number("N", 7)


def test_of_known_words_one_is_said_or_the_first_is_meant(tmp_path: Path) -> None:
    assert Environment(tmp_path, {"W": "approve"}).choice("W", "refuse", "approve") == "approve"
    assert Environment(tmp_path, {}).choice("W", "refuse", "approve") == "refuse"
    with pytest.raises(ImproperlyConfigured, match="refuse or approve"):
        Environment(tmp_path, {"W": "perhaps"}).choice("W", "refuse", "approve")


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


def test_celery_gets_a_redis_socket_in_its_own_spelling() -> None:
    assert broker("unix:///run/r.sock?db=2") == "redis+socket:///run/r.sock?virtual_host=2"
    assert broker("rediss://redis.example:6380/2") == "rediss://redis.example:6380/2"


@pytest.mark.parametrize("url", ["amqp://host", "unix:/run/r.sock", "/run/r.sock", ""])
def test_anything_but_a_redis_address_is_refused(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="REDIS_URL reads"):
        broker(url)
