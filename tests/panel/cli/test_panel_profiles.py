"""The file of panels: its owner's alone, and its tokens nowhere else."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from panel.cli.exit_codes import CommandError
from panel.cli.panel_profiles import PanelFile, chosen, made_profile, read_file

TOKEN = "tcl_abcdefghijkl.s3cr3t-s3cr3t_s3cr3t"


@pytest.fixture
def file(own_file: Path) -> PanelFile:
    panels = PanelFile(own_file, "berlin")
    panels.panels["berlin"] = made_profile(
        "berlin", "https://panel.example.org/", TOKEN, "/ca\\\x7f.pem"
    )
    panels.panels["lab.2"] = made_profile("lab.2", "http://10.0.0.1:8000", TOKEN, plain_http=True)
    return panels


def test_it_comes_back_as_it_was_written(file: PanelFile) -> None:
    file.write()
    again = read_file()
    assert (again.current, set(again.panels)) == ("berlin", {"berlin", "lab.2"})
    berlin = again.panels["berlin"]
    assert (berlin.url, berlin.ca_file) == ("https://panel.example.org", "/ca\\\x7f.pem")
    assert berlin.token.revealed() == TOKEN
    assert again.panels["lab.2"].plain_http


def test_only_its_owner_may_read_it(file: PanelFile) -> None:
    for _ in range(2):
        file.write()
        assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert [each.name for each in file.path.parent.iterdir()] == [file.path.name]


def test_a_file_that_others_may_read_is_not_used(file: PanelFile) -> None:
    file.write()
    file.path.chmod(0o640)
    with pytest.raises(CommandError, match="Other users can read") as refused:
        read_file()
    assert "chmod 600" in refused.value.correction


@pytest.mark.parametrize("text", ["panels = 3", "[panels]\nx = 1", "[panels.x]\nurl = 3", "= ="])
def test_a_file_that_means_nothing_is_an_error_without_what_is_in_it(
    own_file: Path, text: str
) -> None:
    own_file.parent.mkdir()
    own_file.write_text(f'{text}\n# "{TOKEN}"\n')
    own_file.chmod(0o600)
    with pytest.raises(CommandError) as refused:
        read_file()
    assert TOKEN not in str(refused.value)


def test_a_token_is_in_no_text_of_its_panel(file: PanelFile) -> None:
    assert "s3cr3t" not in f"{file!r} {file.panels['berlin']!s} {file.panels['berlin'].token}"


@pytest.mark.parametrize(
    "token", ["", "tcl_s3cr3t.b\r\nX: y", "Bearer tcl_a.s3cr3t", "s3cr3t", "tcl_é.s3cr3t"]
)
def test_what_is_no_token_is_refused_without_showing_it(token: str) -> None:
    with pytest.raises(CommandError) as refused:
        made_profile("x", "https://panel.example.org", token)
    assert "s3cr3t" not in str(refused.value.message) + refused.value.correction


@pytest.mark.parametrize(
    "url", ["http://panel.example.org", "ftp://x", "panel.example.org", "https://u:p@x", ""]
)
def test_a_token_is_sent_to_no_such_address(url: str) -> None:
    with pytest.raises(CommandError):
        made_profile("x", url, TOKEN)


@pytest.mark.parametrize("url", ["http://localhost:8000", "http://127.0.0.1", "http://[::1]:80"])
def test_this_machine_needs_no_tls(url: str) -> None:
    assert made_profile("x", url, TOKEN).url == url


def test_the_variables_are_used_unless_a_panel_is_named(
    file: PanelFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write()
    assert chosen(None).name == "berlin"
    monkeypatch.setenv("TIERCEL_URL", "https://other.example.org")
    monkeypatch.setenv("TIERCEL_TOKEN", TOKEN)
    assert chosen(None).url == "https://other.example.org"
    assert chosen("lab.2").name == "lab.2"


def test_without_a_panel_it_says_how_to_add_one() -> None:
    with pytest.raises(CommandError) as refused:
        chosen(None)
    assert "tiercel panels add" in refused.value.correction
    with pytest.raises(CommandError, match="no panel paris"):
        chosen("paris")
