"""The commands at a live panel: what they show, what they do, and how they end."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from io import StringIO
from typing import Any

import click
import pytest
from django.utils import timezone
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from jobs import notify_workers
from jobs.models import Job, State
from jobs.models.step import Line
from panel.cli.__main__ import tiercel as command_line
from panel.cli.exit_codes import ExitCode
from panel.cli.terminal import width_of
from panel.models import ApiToken, User
from storage.byte_sizes import GIB, MIB
from storage.models import Host
from tests import make
from tests.allocation_scene import OVERSIZED, WAITING, allocation_scene
from tests.panel.cli.conftest import Tiercel, be
from tests.panel.portal.shop import Shop, plan, shop
from tests.panel.proofs.held_orders import held_order
from tests.scene import HOSTILE, Scene, end, job, scene, step, stuck_job
from tests.storage.analysis.advice.load import sampled_days

pytestmark = pytest.mark.django_db(transaction=True)

POOL = "c-aaaaaaaaaaaaaaaa"
Meanwhile = Callable[..., None]


@pytest.fixture
def there(admin: User) -> Scene:
    return scene(label="web12 disk", host={"name": "web1", "site": "Hel 1"})


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """What a person types at a terminal."""

    def type_text(text: str) -> None:
        class Keyboard(StringIO):
            def isatty(self) -> bool:
                return True

        monkeypatch.setattr("sys.stdin", Keyboard(text))

    return type_text


# --- Panels ---------------------------------------------------------------------------------------


def test_a_panel_is_added_with_a_token_that_is_never_an_argument(
    tiercel: Tiercel,
    admin: User,
    live_server: LiveServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    token = be(admin, live_server, monkeypatch)
    monkeypatch.delenv("TIERCEL_TOKEN")
    monkeypatch.delenv("TIERCEL_URL")
    monkeypatch.setattr("sys.stdin", StringIO(f"{token}\n"))
    added = tiercel("panels", "add", "berlin", live_server.url)
    assert (added.code, token in added.out + added.error) == (0, False)
    assert admin.email in added.out
    listed = tiercel("panels", "list")
    assert live_server.url in listed.out and "*" in listed.out
    assert token not in listed.out
    assert tiercel("whoami", "--json").data["user"] == admin.email
    assert "expires" in tiercel("whoami").out
    assert tiercel("whoami", "--panel", "paris").code == ExitCode.USAGE
    assert tiercel("panels", "remove", "berlin").code == 0
    assert tiercel("whoami").code == ExitCode.USAGE


def test_a_panel_that_does_not_know_the_token_is_not_added(
    tiercel: Tiercel, admin: User, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERCEL_TOKEN", "tcl_abcdefghijkl.wrong")
    refused = tiercel("panels", "add", "berlin", live_server.url)
    assert refused.code == ExitCode.NOT_ALLOWED
    assert "/tokens/" in refused.error
    monkeypatch.delenv("TIERCEL_TOKEN")
    assert tiercel("panels", "list", "--json").data == []


def test_a_token_that_was_revoked_is_said_to_be(tiercel: Tiercel, there: Scene) -> None:
    ApiToken.objects.update(revoked_at=there.host.created_at)
    refused = tiercel("volumes", "list")
    assert (refused.code, refused.out) == (ExitCode.NOT_ALLOWED, "")
    assert os.environ["TIERCEL_TOKEN"] not in refused.error


# --- Lists ----------------------------------------------------------------------------------------


def test_hosts_are_listed_and_shown_by_name(tiercel: Tiercel, there: Scene) -> None:
    listed = tiercel("hosts", "list", "--site", "Hel 1")
    assert listed.code == 0 and there.host.key in listed.out
    assert tiercel("hosts", "list", "--site", "Berlin").out == "No hosts.\n"
    shown = tiercel("hosts", "show", "web1")
    assert there.host.key in shown.out and "vg0" in shown.out
    assert tiercel("hosts", "show", "web9").code == ExitCode.NOT_FOUND


def test_a_hosts_ssd_is_shown_with_what_is_proposed(tiercel: Tiercel, there: Scene) -> None:
    allocation_scene(WAITING, OVERSIZED, name="stor1")
    shown = tiercel("hosts", "allocation", "stor1")
    assert shown.code == 0
    assert "Divided anew, the same SSD would save 6.3 h to 7.7 h of waiting a day." in shown.out
    assert "archive" in shown.out and "16 GiB" in shown.out
    assert "One more SSD of 480 GB would save 1 h of waiting a day." in shown.out


def test_volumes_are_listed_and_found_by_their_external_id(tiercel: Tiercel, there: Scene) -> None:
    changed = tiercel("volumes", "set", there.volume.key, "--external-id", "vps-1012")
    assert "vps-1012" in changed.out
    listed = tiercel("volumes", "list", "--external-id", "vps-1012", "--json")
    assert [each["key"] for each in listed.data] == [there.volume.key]
    shown = tiercel("volumes", "show", "vps-1012")
    assert "web12 disk" in shown.out and "8 GiB" in shown.out
    missing = tiercel("volumes", "show", "vps-9")
    assert (missing.code, missing.out) == (ExitCode.NOT_FOUND, "")


def test_a_note_is_shown_line_by_line_and_removed(tiercel: Tiercel, there: Scene) -> None:
    shown = tiercel("volumes", "set", there.volume.key, "--note", "Ask Ann.\nThen call.")
    assert "note: Ask Ann.\nnote: Then call.\n" in shown.out
    assert "note" not in tiercel("volumes", "set", there.volume.key, "--note", "").out


def test_a_list_says_that_there_is_more(tiercel: Tiercel, there: Scene) -> None:
    for _ in range(2):
        make.placement(make.volume(), there.host)
    first = tiercel("volumes", "list", "--limit", "2", "--json")
    assert len(first.data) == 2
    cut_off = tiercel("volumes", "list", "--limit", "2")
    assert "--all" in cut_off.error and len(cut_off.out.splitlines()) == 3
    assert len(tiercel("volumes", "list", "--all", "--json").data) == 3


def test_a_name_reaches_the_terminal_without_what_it_obeys(tiercel: Tiercel, there: Scene) -> None:
    # Older panels let such names in.
    there.volume.label = f"\x1b[2J\x9b31m{HOSTILE}\u202e"
    there.volume.save(update_fields=["label"])
    for command in (("volumes", "list"), ("volumes", "show", there.volume.key), ("top", "--once")):
        for more in ((), ("--json",)):
            out = tiercel(*command, *more).out
            assert not set("\x1b\x9b\u202e") & set(out)
            assert "[2J" in out


def test_on_a_terminal_of_80_columns_no_line_is_longer(
    tiercel: Tiercel, there: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    there.volume.label = "n" * 100
    there.volume.save(update_fields=["label"])
    job(there)
    monkeypatch.setattr("panel.cli.command_session.screen_width", lambda: 80)
    monkeypatch.setattr("panel.cli.top_command.screen_width", lambda: 80)
    for command in (
        ("volumes", "list"),
        ("hosts", "list"),
        ("jobs", "list"),
        ("audit",),
        ("top", "--once"),
    ):
        lines = tiercel(*command).out.splitlines()
        assert max(map(width_of, lines)) <= 80, command


def test_an_error_of_the_panel_is_shown_with_what_to_do(tiercel: Tiercel, there: Scene) -> None:
    make.placement(make.volume(external_id="vps-1"), there.host)
    refused = tiercel("volumes", "set", there.volume.key, "--external-id", "vps-1")
    assert refused.code == ExitCode.IN_THE_WAY
    assert "(external_id_taken)" in refused.error
    assert "Use that volume, or another external id." in refused.error
    as_json = tiercel("volumes", "set", there.volume.key, "--external-id", "vps-1", "--json")
    assert (as_json.out, "external_id_taken" in as_json.error) == ("", True)


def test_a_token_for_reading_changes_nothing(
    tiercel: Tiercel, there: Scene, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    be(make.staff_user(), live_server, monkeypatch, scopes=("read",))
    refused = tiercel("volumes", "set", there.volume.key, "--label", "other")
    assert refused.code == ExitCode.NOT_ALLOWED and "volumes:write" in refused.error
    there.volume.refresh_from_db()
    assert there.volume.label == "web12 disk"


# --- Caches and jobs ------------------------------------------------------------------------------


def carried_out(state: State = State.SUCCEEDED, **fields: object) -> Callable[[], None]:
    """What a worker does with the newest job."""

    def work() -> None:
        newest = Job.objects.latest("id")
        step(newest)
        end(newest, state, **fields)

    return work


def test_a_plan_shows_the_exact_commands_and_apply_runs_them(
    tiercel: Tiercel, there: Scene, meanwhile: Meanwhile
) -> None:
    meanwhile(carried_out())
    planned = tiercel("cache", "plan", there.volume.key, "--size", "256M")
    preview = Job.objects.get()
    assert planned.code == 0, planned.error
    assert (preview.dry_run, preview.wish["cache"]["size_bytes"]) == (True, 256 * MIB)
    assert "1. Attach the cache\n     lvconvert -y --type cache vg0/web12\n" in planned.out
    assert f"tiercel cache apply {preview.key}" in planned.out

    meanwhile(carried_out())
    applied = tiercel("cache", "apply", preview.key, "--yes", "--wait", "--json")
    assert applied.code == 0, applied.error
    assert (applied.data["dry_run"], applied.data["state"]) == (False, "succeeded")
    assert applied.error == ""


def test_without_a_yes_nothing_is_done(
    tiercel: Tiercel, there: Scene, meanwhile: Meanwhile, typed: Callable[[str], None]
) -> None:
    meanwhile(carried_out())
    plan = tiercel("cache", "plan", there.volume.key, "--size", "1G", "--json").data["key"]
    nobody = tiercel("cache", "apply", plan)
    assert nobody.code == ExitCode.USAGE and "--yes" in nobody.error
    typed("n\n")
    refused = tiercel("cache", "apply", plan)
    assert refused.code == ExitCode.INTERRUPTED
    assert "lvconvert -y --type cache" in refused.error
    assert Job.objects.count() == 1
    typed("y\n")
    assert tiercel("cache", "apply", plan).code == 0
    assert Job.objects.filter(dry_run=False).count() == 1


def test_the_same_key_applies_a_plan_once(
    tiercel: Tiercel, there: Scene, meanwhile: Meanwhile
) -> None:
    meanwhile(carried_out())
    plan = tiercel("cache", "plan", there.volume.key, "--size", "1G", "--json").data["key"]
    apply = ("cache", "apply", plan, "--yes", "--json", "--idempotency-key", "order-1")
    keys = {tiercel(*apply).data["key"] for _ in range(2)}
    assert (len(keys), Job.objects.filter(dry_run=False).count()) == (1, 1)


def test_a_cache_is_removed_after_its_plan_was_shown(
    tiercel: Tiercel, admin: User, meanwhile: Meanwhile
) -> None:
    there = scene(make.lv(cache=make.dm_cache(POOL)))
    meanwhile(carried_out(), carried_out())
    removed = tiercel("cache", "remove", there.volume.key, "--yes", "--wait")
    assert removed.code == 0, removed.error
    assert "succeeded" in removed.out
    assert [each.dry_run for each in Job.objects.order_by("id")] == [True, False]


def test_a_cache_that_is_so_already_is_no_job(tiercel: Tiercel, there: Scene) -> None:
    for command in (("cache", "remove", "--yes"), ("cache", "plan", "--none")):
        ran = tiercel(*command, there.volume.key)
        assert (ran.code, Job.objects.count()) == (0, 0)
        assert "nothing would be done" in ran.out


@pytest.mark.parametrize(
    "arguments", [(), ("--size", "1G", "--none"), ("--none", "--mode", "writeback")]
)
def test_a_plan_is_for_a_size_or_for_none(
    tiercel: Tiercel, there: Scene, arguments: tuple[str, ...]
) -> None:
    refused = tiercel("cache", "plan", there.volume.key, *arguments)
    assert (refused.code, Job.objects.count()) == (ExitCode.USAGE, 0)


def test_a_plan_that_is_refused_says_why(
    tiercel: Tiercel, there: Scene, meanwhile: Meanwhile
) -> None:
    error = {"code": "no_space", "message": "The SSD is full.", "correction": "Add an SSD."}
    meanwhile(carried_out(State.FAILED, error=error))
    refused = tiercel("cache", "plan", there.volume.key, "--size", "1G")
    assert refused.code == ExitCode.FAILED
    assert "The SSD is full. (no_space)" in refused.error and "Add an SSD." in refused.error


def test_a_volume_that_is_held_by_another_job_is_in_the_way(
    tiercel: Tiercel, there: Scene, meanwhile: Meanwhile
) -> None:
    meanwhile(carried_out())
    plan = tiercel("cache", "plan", there.volume.key, "--size", "1G", "--json").data["key"]
    holder = job(there)
    refused = tiercel("cache", "apply", plan, "--yes")
    assert refused.code == ExitCode.IN_THE_WAY
    assert holder.key in refused.error


def said(of: Job, *texts: str) -> None:
    """The next lines of output of a job."""
    count = Line.objects.filter(job=of).count()
    Line.objects.bulk_create(
        Line(job=of, n=count + n + 1, text=text) for n, text in enumerate(texts)
    )


def test_a_job_is_followed_to_its_end(tiercel: Tiercel, there: Scene, meanwhile: Meanwhile) -> None:
    at_work = job(there)
    running = step(at_work, state="running", op_id=uuid.uuid4())
    said(at_work, "one")
    half = {"label": "copied", "done_bytes": GIB, "total_bytes": 2 * GIB}
    meanwhile(
        lambda: type(running).objects.filter(pk=running.pk).update(progress=half),
        lambda: (said(at_work, "two", "\x1b[31mred"), end(at_work)),
    )
    followed = tiercel("jobs", "follow", at_work.key)
    assert followed.code == 0, followed.error
    assert followed.out == f"one\ntwo\n\\x1b[31mred\nJob {at_work.key}: succeeded\n"
    assert "[1/1] Attach the cache" in followed.error


@pytest.mark.parametrize(
    ("state", "ends_with"),
    [
        (State.FAILED, ExitCode.FAILED),
        (State.CANCELLED, ExitCode.FAILED),
        (State.NEEDS_ATTENTION, ExitCode.NEEDS_ATTENTION),
    ],
)
def test_the_end_of_a_job_is_the_exit_code(
    tiercel: Tiercel, there: Scene, state: State, ends_with: ExitCode
) -> None:
    error = {"code": "stalled", "message": "It stalled.", "correction": "Look at the host."}
    over = stuck_job(there.volume, error=error)
    if state != State.NEEDS_ATTENTION:
        end(over, state)
    for command in (("jobs", "follow", over.key), ("jobs", "follow", over.key, "--json")):
        followed = tiercel(*command)
        assert followed.code == ends_with
        assert "It stalled." in followed.error and "Look at the host." in followed.error


def test_waiting_ends_after_its_time_and_the_job_goes_on(tiercel: Tiercel, there: Scene) -> None:
    at_work = job(there)
    followed = tiercel("jobs", "follow", at_work.key, "--timeout", "0.1")
    assert followed.code == ExitCode.WAITED_TOO_LONG
    assert f"tiercel jobs follow {at_work.key}" in followed.error
    at_work.refresh_from_db()
    assert at_work.state == State.QUEUED


def test_a_job_is_cancelled(tiercel: Tiercel, there: Scene) -> None:
    queued = job(there)
    assert tiercel("jobs", "cancel", queued.key).code == ExitCode.USAGE
    cancelled = tiercel("jobs", "cancel", queued.key, "--yes")
    assert cancelled.code == 0, cancelled.error
    queued.refresh_from_db()
    assert queued.state == State.CANCELLED


def test_advice_and_a_curve_say_what_is_known(tiercel: Tiercel, there: Scene) -> None:
    sampled_days(there.volume, 4, lambda _ts: 1, end=timezone.now())
    advice = tiercel("hosts", "advice", there.host.key)
    assert advice.code == 0, advice.error
    assert "What it reads again is not known yet." in advice.out
    curve = tiercel("volumes", "curve", there.volume.key)
    assert curve.code == 0, curve.error
    assert "its agent is too old to count heat" in curve.out


# --- Orders, figures, anything else ---------------------------------------------------------------


@pytest.fixture
def acme(
    admin: User, live_server: LiveServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Shop:
    """A customer with a volume, whose owner has the token."""
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    monkeypatch.setattr(notify_workers, "send", lambda task, *arguments: True)
    there = shop()
    be(there.owner, live_server, monkeypatch)
    return there


def test_what_each_plan_would_bring_is_shown_with_its_price(tiercel: Tiercel, acme: Shop) -> None:
    plan()
    ran = tiercel("volumes", "plans", acme.volume.key)
    assert ran.code == 0, ran.error
    assert "4.90 EUR" in ran.out
    assert "Fast: No forecast yet" in ran.out


def test_an_order_shows_its_money_before_it_is_placed(tiercel: Tiercel, acme: Shop) -> None:
    sold = plan()
    assert "4.90 EUR" in tiercel("plans").out
    place = ("orders", "place", acme.volume.key, sold.name)
    quote = tiercel(*place, "--dry-run")
    assert quote.code == 0, quote.error
    assert "4.90 EUR" in quote.out
    nobody = tiercel(*place)
    assert nobody.code == ExitCode.USAGE and "4.90 EUR" in nobody.error
    assert tiercel("orders", "list").out == "No orders.\n"
    unknown = tiercel("orders", "place", acme.volume.key, "Turbo")
    assert unknown.code == ExitCode.NOT_FOUND and sold.name in unknown.error


def test_staff_see_how_forecasts_held(tiercel: Tiercel, there: Scene) -> None:
    assert tiercel("calibration").out == "No forecast was measured yet.\n"
    held_order(0.4)
    shown = tiercel("calibration").out
    assert "own_traffic" in shown and "30.0 points" in shown


def test_a_customer_orders_and_follows_the_job_without_its_output(
    tiercel: Tiercel, acme: Shop
) -> None:
    placed = tiercel("orders", "place", acme.volume.key, plan().name, "--yes", "--json")
    assert placed.code == 0, placed.error
    work = Job.objects.get()
    assert placed.data["price_minor"] == 490
    said(work, "device-mapper: secret")
    end(work)
    followed = tiercel("jobs", "follow", work.key)
    assert followed.code == 0, followed.error
    assert followed.out == f"Job {work.key}: succeeded\n"
    shown = tiercel("orders", "show", placed.data["key"])
    assert work.key in shown.out
    again = tiercel("orders", "place", acme.volume.key, "--none", "--yes")
    assert again.code in (ExitCode.IN_THE_WAY, ExitCode.REFUSED), again.error


def test_top_ranks_volumes_by_what_their_guests_wait(tiercel: Tiercel, there: Scene) -> None:
    once = tiercel("top", "--once", "--json")
    assert [each["key"] for each in once.data] == [there.volume.key]
    assert "WAITING" in tiercel("top", "--once").out


def test_figures_stand_beneath_each_other_with_their_times(tiercel: Tiercel, there: Scene) -> None:
    drawn = ("--from", "2026-11-23T08:00:00Z", "--to", "2026-11-23T09:00:00Z", "--points", "6")
    series = tiercel("volumes", "series", there.volume.key, *drawn)
    assert series.code == 0, series.error
    titles, first, *_ = series.out.splitlines()
    assert titles.startswith("UNTIL") and "HIT RATE" in titles
    assert first.startswith("2026-11-23 08:10:00Z")


def named_by_texts() -> list[Any]:
    """Every argument of a command that takes any text, as a case with the words before it."""

    def within(group: click.Group, words: tuple[str, ...]) -> Iterator[Any]:
        for name, command in sorted(group.commands.items()):
            if isinstance(command, click.Group):
                yield from within(command, (*words, name))
                continue
            places = [each for each in command.params if isinstance(each, click.Argument)]
            for n, each in enumerate(places):
                if not isinstance(each.type, click.Choice):
                    others = ["GET" if isinstance(p.type, click.Choice) else "x" for p in places]
                    case = (*words, name, *others[:n], "", *others[n + 1 :])
                    yield pytest.param(case, id=f"{' '.join((*words, name))} {each.name}")

    return list(within(command_line, ()))


@pytest.mark.parametrize("words", named_by_texts())
def test_an_argument_that_is_empty_is_refused_before_the_panel_is_asked(
    tiercel: Tiercel, words: tuple[str, ...]
) -> None:
    ran = tiercel(*words)
    assert (ran.code, ran.out) == (ExitCode.USAGE, ""), ran.error
    assert "It is empty and names nothing." in ran.error


@pytest.mark.parametrize(
    "words",
    [
        ("volumes", "list", "--external-id", ""),
        ("volumes", "list", "--customer", " "),
        ("jobs", "list", "--volume", ""),
        ("orders", "list", "--volume", ""),
        ("events", "tail", "--host", ""),
        ("audit", "--volume", ""),
        ("whoami", "--panel", ""),
    ],
)
def test_an_option_that_names_something_is_refused_when_empty(
    tiercel: Tiercel, words: tuple[str, ...]
) -> None:
    ran = tiercel(*words)
    assert ran.code == ExitCode.USAGE
    assert "It is empty and names nothing." in ran.error


def test_any_route_can_be_asked(tiercel: Tiercel, there: Scene) -> None:
    wish = tiercel("api", "GET", f"/volumes/{there.volume.key}/wish", "--include").data
    assert wish["status"] == 200
    etag = next(value for name, value in wish["headers"].items() if name.lower() == "etag")
    put = ("api", "PUT", f"/volumes/{there.volume.key}/wish?dry_run=true", "-d")
    body = '{"cache": {"size_bytes": 1073741824}}'
    assert tiercel(*put, body, "--if-match", '"other"').code == ExitCode.IN_THE_WAY
    assert tiercel(*put, body, "--if-match", etag).data["dry_run"] is True
    assert tiercel(*put, "{").code == ExitCode.USAGE
    assert tiercel("api", "GET", "https://elsewhere.example.org/").code == ExitCode.USAGE
    assert tiercel("api", "GET", "/volumes/?limit=0").code == ExitCode.REFUSED
    slashless = tiercel("api", "GET", "/volumes?limit=1")
    assert slashless.code == ExitCode.NOT_FOUND and "/volumes/?limit=1" in slashless.error


def test_the_audit_trail_is_read(tiercel: Tiercel, there: Scene) -> None:
    assert tiercel("audit", "--volume", there.volume.key).out == "No entries.\n"
    assert tiercel("audit", "--since", "yesterday").code == ExitCode.REFUSED


# --- The program ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_completion(tiercel: Tiercel, shell: str) -> None:
    script = tiercel("completion", shell)
    assert script.code == 0 and "_TIERCEL_COMPLETE" in script.out


@pytest.mark.parametrize(
    ("words", "expected"),
    [("tiercel vol", "volumes"), ("tiercel volumes show ", None), ("tiercel hosts show w", "web1")],
)
def test_the_shell_completes_commands_and_what_the_panel_has(
    tiercel: Tiercel,
    there: Scene,
    words: str,
    expected: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("_TIERCEL_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    assert f"plain,{expected or there.volume.key}\n" in tiercel().out


def test_what_nobody_foresaw_ends_without_the_token(
    tiercel: Tiercel, there: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = os.environ["TIERCEL_TOKEN"]

    def fail(*arguments: object, **options: object) -> None:
        raise RuntimeError(f"header Bearer {token}")

    monkeypatch.setattr("urllib3.PoolManager.request", fail)
    monkeypatch.setenv("TIERCEL_CLI_DEBUG", "1")
    failed = tiercel("volumes", "list")
    assert failed.code == ExitCode.FAILED
    assert "RuntimeError" in failed.error and token not in failed.error


def test_a_typing_mistake_is_wrong_usage(tiercel: Tiercel) -> None:
    assert tiercel("volume").code == ExitCode.USAGE
    assert tiercel("volumes", "list", "--state", "maneged").code == ExitCode.USAGE


def test_hosts_in_no_state_to_ask_are_listed(tiercel: Tiercel, admin: User) -> None:
    Host.objects.all().delete()
    assert tiercel("hosts", "list").out == "No hosts.\n"


def test_a_job_gets_a_window_and_begins_without_it(tiercel: Tiercel, there: Scene) -> None:
    made = job(there, kind="flush-cache")
    berlin = ("--zone", "Europe/Berlin")
    given = tiercel("jobs", "window", made.key, "02:00-05:00", *berlin, "--json")
    window = {"start": "02:00", "end": "05:00", "zone": "Europe/Berlin"}
    assert (given.code, given.data["window"]) == (0, window)
    assert "02:00-05:00 Europe/Berlin" in tiercel("jobs", "show", made.key).out
    assert tiercel("jobs", "window", made.key, "none", "--json").data["window"] is None
    wrong = tiercel("jobs", "window", made.key, "at night")
    assert (wrong.code, "02:00-05:00" in wrong.error) == (ExitCode.USAGE, True)


def test_a_cache_is_planned_in_a_window(
    tiercel: Tiercel, admin: User, meanwhile: Meanwhile
) -> None:
    cached = scene(make.lv(cache=make.dm_cache(POOL)))
    meanwhile(carried_out())
    night = ("--window", "22:00-23:00")
    planned = tiercel("cache", "plan", cached.volume.key, "--none", *night, "--json")
    assert (planned.code, planned.data["window"]["start"]) == (0, "22:00")
    meanwhile(carried_out())
    shown = tiercel("cache", "plan", cached.volume.key, "--none", *night)
    assert "Starts " in shown.out and "at the latest." in shown.out
