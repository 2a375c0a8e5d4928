"""Clients that others generate from the API's description: generated, compiled, used at a panel.

The one in Python is part of `make test`. What generates and compiles the one in Go (500 MB: a JDK,
Go) stands in a venv of its own, which `make clients` and `make thorough` install; there the test
fails without it, elsewhere it is skipped.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connections
from drf_spectacular.renderers import OpenApiYamlRenderer
from pytest_django.live_server_helper import LiveServer

from panel.operations.local_services import CHECKOUT
from storage.byte_sizes import GIB
from tests import make
from tests.panel.api.asking import program
from tests.panel.api.test_openapi import described
from tests.scene import scene

PYTHON = Path(sys.executable)
TOOLS = CHECKOUT / ".venv-clients" / "bin"
# Go compiles its standard library first.
SECONDS = 1500
GO_PROGRAM = """
package main

import (
	"context"
	"fmt"
	"os"

	tiercel "example.org/tiercel/client"
)

func main() {
	configuration := tiercel.NewConfiguration()
	configuration.Servers = tiercel.ServerConfigurations{{URL: os.Getenv("TIERCEL_URL")}}
	token := context.WithValue(
		context.Background(), tiercel.ContextAccessToken, os.Getenv("TIERCEL_TOKEN"))
	client := tiercel.NewAPIClient(configuration)
	page, _, err := client.VolumesAPI.VolumesList(token).Execute()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, volume := range page.Items {
		fmt.Println(volume.Key, volume.SizeBytes)
		for _, size := range []int64{0, 1 << 30} {
			body := tiercel.WishBody{}
			body.SetCacheNil()
			if size != 0 {
				body.SetCache(*tiercel.NewWishCache(size))
			}
			answer, _, err := client.VolumesAPI.WishPut(token, volume.Key).
				DryRun(true).WishBody(body).Execute()
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Println(answer.WishNow != nil, answer.JobShape != nil)
		}
	}
}
"""
PYTHON_PROGRAM = """
import os

from generated.api.volumes import volumes_list, wish_put
from generated.client import AuthenticatedClient
from generated.models import WishBody, WishCache

client = AuthenticatedClient(base_url=os.environ["TIERCEL_URL"], token=os.environ["TIERCEL_TOKEN"])
for volume in volumes_list.sync(client=client).items:
    print(volume.key, volume.size_bytes)
    for cache in (None, WishCache(size_bytes=1 << 30)):
        answer = wish_put.sync(volume.key, client=client, body=WishBody(cache=cache), dry_run=True)
        print(type(answer).__name__, answer.object_.value)
"""

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(SECONDS),
]


@pytest.fixture
def description(tmp_path: Path) -> Path:
    """The file that the generators read."""
    path = tmp_path / "openapi.yaml"
    path.write_bytes(OpenApiYamlRenderer().render(described(), renderer_context={}))
    return path


@pytest.fixture
def asking(live_server: LiveServer) -> Iterator[dict[str, str]]:
    """The environment of a program that may ask the panel."""
    yield {
        **os.environ,
        "PATH": os.pathsep.join((str(TOOLS), str(PYTHON.parent), os.environ["PATH"])),
        "TIERCEL_URL": live_server.url,
        "TIERCEL_TOKEN": program(make.staff_user()).text,
        "NO_PROXY": "localhost,127.0.0.1",
    }
    connections.close_all()


def run(*command: str | Path, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


@pytest.mark.skipif(
    not TOOLS.exists() and "CLIENTS" not in os.environ, reason="no Go here: make clients"
)
def test_a_go_client_lists_a_volume_of_4_gib_and_knows_a_wish_from_a_job(
    tmp_path: Path, description: Path, asking: dict[str, str]
) -> None:
    there = scene(make.lv(size_bytes=4 * GIB))
    client = tmp_path / "client"
    run(
        TOOLS / "openapi-generator-cli",
        "generate",
        "-g",
        "go",
        "-i",
        description,
        "-o",
        client,
        "--git-host",
        "example.org",
        "--git-user-id",
        "tiercel",
        "--git-repo-id",
        "client",
        "--global-property",
        "apiTests=false,modelTests=false",
        # Job states and order states have the same words.
        "--additional-properties",
        "packageName=tiercel,enumClassPrefix=true",
        folder=tmp_path,
        environment=asking,
    )
    (client / "list").mkdir()
    (client / "list" / "main.go").write_text(GO_PROGRAM)
    run("go", "vet", "./...", folder=client, environment=asking)
    said = run("go", "run", "./list", folder=client, environment=asking)
    assert said.splitlines() == [f"{there.volume.key} {4 * GIB}", "true false", "false true"]


def test_a_python_client_lists_a_volume_of_4_gib_and_knows_a_wish_from_a_job(
    tmp_path: Path, description: Path, asking: dict[str, str]
) -> None:
    there = scene(make.lv(size_bytes=4 * GIB))
    run(
        PYTHON.with_name("openapi-python-client"),
        "generate",
        "--path",
        description,
        "--meta",
        "none",
        "--output-path",
        tmp_path / "generated",
        "--fail-on-warning",
        folder=tmp_path,
        environment=asking,
    )
    run(PYTHON, "-m", "compileall", "-q", "generated", folder=tmp_path,
        environment=asking)  # fmt: skip
    said = run(PYTHON, "-c", PYTHON_PROGRAM, folder=tmp_path, environment=asking)
    assert said.splitlines() == [f"{there.volume.key} {4 * GIB}", "WishNow wish", "JobShape job"]
