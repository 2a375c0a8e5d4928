"""What gunicorn takes from a request that comes through a proxy on this machine."""

from __future__ import annotations

import inspect

import pytest
from gunicorn.config import KNOWN_SETTINGS, Config
from gunicorn.http.parser import RequestParser

from panel.configuration import gunicorn


def configured() -> Config:
    config = Config()
    names = {setting.name for setting in KNOWN_SETTINGS}
    for name, value in inspect.getmembers(gunicorn):
        if name in names:
            config.set(name, value)
    return config


@pytest.mark.parametrize("name", ["SCRIPT_NAME", "PATH_INFO", "X_FORWARDED_FOR"])
def test_a_client_does_not_say_where_the_panel_is_mounted(name: str) -> None:
    text = f"GET /x/api/v1/ HTTP/1.1\r\nHost: localhost\r\n{name}: /x\r\n\r\n".encode()
    request = next(RequestParser(configured(), iter([text]), ("127.0.0.1", 1)))
    assert [header for header, _ in request.headers] == ["HOST"]
