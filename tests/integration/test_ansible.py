"""The Ansible collection at a running panel: second runs change nothing, check mode changes
nothing, and the panel's own words reach the person who runs the play."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobs.models import Job
from panel.operations.local_services import CHECKOUT
from storage.byte_sizes import MIB
from storage.models import CachePlan, Customer, Host, Placement, Volume
from tests import make
from tests.integration.conftest import EMAIL
from tests.integration.machine import Machine
from tests.integration.running import Running
from tests.scene import scene

SECONDS = 300
FOLDER = CHECKOUT / "docs"
MODULES = ("customer", "host_info", "plan", "volume", "volume_cache")
SCOPES = "read,volumes:write,customers:write,plans:write"
READ_OPTIONS = """
import contextlib, importlib, json, sys
class Stop(Exception):
    pass
def keep(spec, **rest):
    kept[name] = {n: [o.get("required", False), o.get("default"), o.get("choices")]
                  for n, o in spec.items()}
    raise Stop
kept = {}
for name in sys.argv[1:]:
    module = importlib.import_module(f"ansible_collections.tiercel.storage.plugins.modules.{name}")
    module.AnsibleModule = keep
    with contextlib.suppress(Stop):
        module.main()
print(json.dumps(kept, default=str))
"""
"""Prints what each module named in its arguments asks of its options."""
Task = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Played:
    """What a play wrote, and the result of each task."""

    out: str
    results: list[dict[str, Any]]

    @property
    def changed(self) -> list[bool]:
        return [each["changed"] for each in self.results]


Play = Callable[..., Played]


def environment(scratch: Path) -> dict[str, str]:
    return {
        **{"PATH": os.environ["PATH"], "HOME": str(scratch), "LANG": "C.UTF-8"},
        "ANSIBLE_COLLECTIONS_PATH": str(FOLDER),
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_HOME": str(scratch / "ansible"),
        # A module is one process then, not three.
        "ANSIBLE_PIPELINING": "true",
    }


def program(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


@pytest.fixture
def play(panel: Running, tmp_path: Path) -> Play:
    """Play these tasks; a task that fails is a result as any other."""
    token = panel.manage("token", EMAIL, "--name", "ansible", "--scopes", SCOPES).strip()

    def played(*tasks: Task, options: tuple[str, ...] = (), panel_token: str = token) -> Played:
        kept = tmp_path / "results.json"
        registered = [
            {**task, "register": f"result{n}", "ignore_errors": True}
            for n, task in enumerate(tasks)
        ]
        results = ", ".join(f"result{n}" for n in range(len(tasks)))
        writing = {
            "ansible.builtin.copy": {
                "content": f"{{{{ [{results}] | to_json }}}}",
                "dest": str(kept),
            },
            "check_mode": False,
            "diff": False,
        }
        play = {
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "vars": {"ansible_python_interpreter": sys.executable},
            "module_defaults": {"group/tiercel.storage.all": {"panel_url": panel.url}},
            "environment": {"TIERCEL_TOKEN": panel_token, "NO_PROXY": "localhost"},
            "tasks": [*registered, writing],
        }
        book = tmp_path / "play.yml"
        book.write_text(yaml.safe_dump([play]))
        done = subprocess.run(
            [program("ansible-playbook"), "-i", "localhost,", *options, str(book)],
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        assert panel_token not in done.stdout + done.stderr
        return Played(done.stdout, json.loads(kept.read_text()))

    return played


def task(module: str, **options: Any) -> Task:
    return {f"tiercel.storage.{module}": options}


@pytest.mark.thorough
def test_a_customer_with_a_volume_and_its_cache(machine: Machine, host: Host, play: Play) -> None:
    bare = machine.lvs()
    name = f"ansible-{host.name}"
    customer = task("customer", external_id=name, name="Acme")
    plan = task(
        "plan",
        name=name,
        size_bytes=256 * MIB,
        price_minor=490,
        currency="EUR",
        mode="writethrough",
    )
    wanted = {"external_id": name, "label": "by Ansible", "host": host.name, "vg": "vg0"}
    wanted |= {"size_bytes": 128 * MIB, "customer": name}
    volume = task("volume", **wanted)
    cache = task("volume_cache", volume=name, size_bytes=64 * MIB)

    checked = play(customer, plan, options=("--check", "--diff"))
    assert checked.changed == [True, True]
    assert "Acme" in checked.out and "490" in checked.out
    assert not Customer.objects.filter(external_id=name).exists()
    assert not CachePlan.objects.filter(name=name).exists()

    # Without a cache: on Debian 11 LVM cannot extend a volume that has one.
    grown = task("volume", **wanted | {"size_bytes": 192 * MIB}) | {"check_mode": True}
    made = play(task("host_info", name=host.name), customer, plan, volume, grown, cache)
    assert made.changed == [False, True, True, True, True, True], made.out
    assert made.results[4]["commands"]
    assert made.results[0]["hosts"][0]["groups"][0]["name"] == "vg0"
    row = Volume.objects.get(external_id=name)
    assert row.customer is not None and row.customer.name == "Acme"
    assert machine.lvs() - bare

    second = play(customer, plan, volume, cache)
    assert second.changed == [False] * 4, second.out

    jobs = Job.objects.filter(volume=row, dry_run=False).count()
    lvs = machine.lvs()
    larger = task("volume_cache", volume=name, size_bytes=128 * MIB)
    planned = play(larger, options=("--check", "--diff"))
    assert planned.changed == [True], planned.out
    assert any("lvconvert" in line for line in planned.results[0]["commands"])
    assert str(128 * MIB) in planned.out and str(64 * MIB) in planned.out
    assert Job.objects.filter(volume=row, dry_run=False).count() == jobs
    assert machine.lvs() == lvs

    refused = play(
        task("volume_cache", volume=name, size_bytes=1),
        task("customer", external_id=name, state="absent"),
        task("volume_cache", volume="missing", size_bytes=64 * MIB),
        task("volume", external_id=f"{name}-2", label="no host"),
    )
    assert [each["failed"] for each in refused.results] == [True] * 4
    first, second_answer, third, fourth = refused.results
    assert first["status"] == 422 and "/cache" in first["msg"]
    assert (second_answer["code"], second_answer["status"]) == ("in_use", 409)
    assert "volume" in second_answer["msg"]
    assert "missing" in third["msg"]
    assert "host" in fourth["msg"]

    retired = task("volume", external_id=name, state="retired", without_customer=True)
    removed = play(
        task("volume_cache", volume=name, state="absent"),
        task("volume_cache", volume=name, state="absent"),
        retired,
        retired,
        task("customer", external_id=name, state="absent"),
        task("customer", external_id=name, state="absent"),
        task("plan", name=name, state="absent"),
    )
    assert removed.changed == [True, False, True, False, True, False, True], removed.out
    row.refresh_from_db()
    assert row.retired_at is not None and row.customer is None
    # The lab's turn comes with the same name.
    Volume.objects.filter(pk=row.pk).update(external_id="")


def test_a_token_that_opens_nothing_is_said_to_be(panel: Running, play: Play) -> None:
    (refused,) = play(task("host_info"), panel_token="tcl_abcdefghijkl.wrong").results
    assert refused["failed"] and "/tokens/" in refused["msg"]


def test_an_empty_name_fails_before_anything_is_asked(play: Play) -> None:
    empty = play(
        task("customer", external_id="", name="X"),
        task("customer", external_id=" ", state="absent"),
        task("plan", name="", size_bytes=256 * MIB, price_minor=490, currency="EUR"),
        task("volume", external_id="", state="retired"),
        task("volume", external_id="web", customer=""),
        task("volume_cache", volume="", state="absent"),
        options=("--check",),
    )
    names = ("external_id", "external_id", "name", "external_id", "customer", "volume")
    assert [each["msg"] for each in empty.results] == [
        f"{name} is empty and names nothing." for name in names
    ]


def test_the_key_of_a_volume_goes_before_the_external_id_of_another(play: Play) -> None:
    # No collector asks a host in this state.
    meant = scene(host={"state": "unverified"})
    other = make.volume(external_id=meant.volume.key)
    try:
        renamed = task("volume", external_id=meant.volume.key, label="new")
        (played,) = play(renamed, options=("--check",)).results
    finally:
        Placement.objects.filter(host=meant.host).delete()
        Volume.objects.filter(pk__in=[meant.volume.pk, other.pk]).delete()
        meant.host.delete()
    assert played["volume"]["key"] == meant.volume.key


def test_every_option_is_documented(tmp_path: Path) -> None:
    names = [f"tiercel.storage.{each}" for each in MODULES]
    done = subprocess.run(
        [program("ansible-doc"), "--json", "-t", "module", *names],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    documented = json.loads(done.stdout)
    collection = FOLDER / "ansible_collections" / "tiercel" / "storage"
    assert {path.stem for path in (collection / "plugins/modules").glob("*.py")} == set(MODULES)
    asked = subprocess.run(
        [sys.executable, "-c", READ_OPTIONS, *MODULES],
        env={**environment(tmp_path), "PYTHONPATH": str(FOLDER)},
        capture_output=True,
        text=True,
        check=True,
    )
    asked_for = json.loads(asked.stdout)
    for name in MODULES:
        doc = documented[f"tiercel.storage.{name}"]
        options = {
            option: [given.get("required", False), given.get("default"), given.get("choices")]
            for option, given in doc["doc"]["options"].items()
        }
        assert options == asked_for[name], name
        assert doc["examples"] and doc["return"]
