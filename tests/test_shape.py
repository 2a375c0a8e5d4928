"""The shape of the project: who imports whom, how long files are, what must fit together."""

import ast
import io
import keyword
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import budgets

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("panel", "storage", "jobs")
FILE_LINES = 600
MOST_OF_A_NAME = 2
EXCUSED_FILES = {"jobs/engine/runner.py"}
REQUIREMENTS = (
    "requirements",
    "requirements-embedded",
    "requirements-test",
    "requirements-node",
    "requirements-bench",
    "requirements-clients",
    "requirements-audit",
)
FOLDER_MODULES = 20
PANEL_ROOMS = 27
PAGE_ROOMS = ("panel/staff/", "panel/portal/", "panel/accounts/")
ORDINARY_MODULES = {"__init__", "__main__", "apps", "forms", "models", "pages", "tasks", "urls"}


def python_files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" not in path.parts and "__pycache__" not in path.parts:
                yield path


def imports_of_django(path: Path) -> set[str]:
    """The parts of Django that a module imports, such as "forms" and "shortcuts.render"."""
    parts = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            parts |= {alias.name.removeprefix("django.") for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "django":
            module = (node.module or "").removeprefix("django").lstrip(".")
            parts |= {module, *(f"{module}.{alias.name}".lstrip(".") for alias in node.names)}
    return parts


def committed_files() -> list[Path]:
    """Files that are or would be committed."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = (ROOT / line for line in done.stdout.splitlines())
    return [path for path in paths if path.is_file()]


def test_imports_go_one_way() -> None:
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_agent_imports_nothing_but_the_standard_library() -> None:
    foreign = {}
    for path in python_files("storage/agent"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = {(node.module or "").split(".")[0]}
            else:
                continue
            if names - sys.stdlib_module_names:
                foreign[f"{path.relative_to(ROOT)}:{node.lineno}"] = names
    assert not foreign


def test_pages_are_rendered_in_the_rooms_of_pages_alone() -> None:
    helper = ROOT / "panel/http/fragments.py"
    drawing = {
        str(path.relative_to(ROOT))
        for path in python_files("panel")
        if "shortcuts.render" in imports_of_django(path) and path != helper
    }
    assert {path for path in drawing if not path.startswith(PAGE_ROOMS)} == set()


def test_the_panel_has_at_most_27_rooms() -> None:
    rooms = {path.relative_to(ROOT / "panel").parts[0] for path in python_files("panel")}
    assert len(rooms - {"__init__.py"}) <= PANEL_ROOMS, sorted(rooms)


def test_only_the_panel_has_forms() -> None:
    named = (path for path in python_files("storage", "jobs") if "forms" in imports_of_django(path))
    assert [str(path.relative_to(ROOT)) for path in named] == []


def test_no_file_is_longer_than_600_lines() -> None:
    """Above 350 lines a file asks to be divided; `make budgets` names those."""
    too_long = {
        str(path.relative_to(ROOT)): lines
        for path in python_files(*SOURCES, "tests")
        if (lines := len(path.read_text().splitlines())) > FILE_LINES
    }
    assert not too_long


def test_no_room_has_more_lines_than_its_budget() -> None:
    lines, limits = budgets.lines_by_room(), budgets.budgets()
    assert {room: n for room, n in lines.items() if n > limits.get(room, 0)} == {}, (
        "Make the room smaller, or raise its budget in tests/budgets.toml and say why there."
    )


def test_a_budget_falls_with_its_room() -> None:
    lines, limits = budgets.lines_by_room(), budgets.budgets()
    assert set(limits) == set(lines)
    wide = [room for room, limit in limits.items() if budgets.is_too_wide(limit, lines[room])]
    assert not wide, "Run make budgets."


def test_make_budgets_lowers_and_never_raises() -> None:
    text = '# Why.\n"jobs/queue" = 50\n"panel/api" = 70\n"panel/gone" = 9\n'
    lines = {"jobs/queue": 60, "panel/api": 40}
    assert budgets.lowered(text, lines) == '# Why.\n"jobs/queue" = 50\n"panel/api" = 40\n'


def test_no_more_files_are_excused_from_the_limits_of_ruff() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    excused = project["tool"]["ruff"]["lint"]["per-file-ignores"]
    limits = {name: rules for name, rules in excused.items() if name != "tests/**"}
    assert set(limits) <= EXCUSED_FILES, "This list only gets shorter."
    assert sum(map(len, limits.values())) <= len(EXCUSED_FILES)


def test_no_literal_sequence_is_starred_into_another() -> None:
    starred = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in python_files(*SOURCES, "tests")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Starred) and isinstance(node.value, ast.Tuple | ast.List | ast.Set)
    ]
    assert not starred


def test_no_single_string_stands_in_parentheses() -> None:
    bare = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in python_files(*SOURCES, "tests")
        for line in parenthesised_strings(path.read_text())
    ]
    assert not bare


def parenthesised_strings(text: str) -> Iterator[int]:
    """The lines on which parentheses hold one string and nothing else, and call nothing."""
    layout = {
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.COMMENT,
        tokenize.INDENT,
        tokenize.DEDENT,
    }
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in layout
    ]
    for before, opening, string, closing in zip(
        tokens, tokens[1:], tokens[2:], tokens[3:], strict=False
    ):
        is_call = before.type == tokenize.STRING or (
            before.string in (")", "]")
            or (before.type == tokenize.NAME and not keyword.iskeyword(before.string))
        )
        is_one_line = opening.start[0] == closing.start[0]
        held = (opening.string, string.type, closing.string) == ("(", tokenize.STRING, ")")
        if held and is_one_line and not is_call:
            yield string.start[0]


def test_no_public_function_name_stands_for_more_than_two() -> None:
    """Functions of modules; a method has its class beside it."""
    places: dict[str, list[str]] = {}
    for path in python_files(*SOURCES):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {
        name: found
        for name, found in places.items()
        if len(found) > MOST_OF_A_NAME and not name.startswith("_")
    } == {}


def test_no_folder_holds_more_than_twenty_modules() -> None:
    modules = Counter(
        str(path.parent.relative_to(ROOT))
        for path in python_files(*SOURCES)
        if path.name != "__init__.py"
    )
    assert {folder: n for folder, n in modules.items() if n > FOLDER_MODULES} == {}


def test_no_module_has_the_name_of_another() -> None:
    """Except Django's own names, and a management command, which is named as what it runs."""
    names = Counter(
        path.stem
        for path in python_files(*SOURCES)
        if path.stem not in ORDINARY_MODULES and path.parent.name != "commands"
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_no_class_has_the_name_of_another() -> None:
    names = Counter(
        node.name
        for path in python_files(*SOURCES)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    ordinary = {"Meta", "Command"}
    assert [name for name, count in names.items() if count > 1 and name not in ordinary] == []


def test_what_rules_find_has_one_shape() -> None:
    shapes = [
        node.name
        for path in python_files("storage/health", "storage/discovery", "storage/analysis")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        and {"severity", "message", "correction"}
        <= {bound_name(each.target) for each in node.body if isinstance(each, ast.AnnAssign)}
    ]
    assert shapes == ["HealthFinding"]


def test_variables_say_what_they_hold() -> None:
    vague = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in python_files(*SOURCES)
        for node in ast.walk(ast.parse(path.read_text()))
        if (name := bound_name(node)) in ("found", "told", "said")
    ]
    assert len(vague) < 30, vague


def bound_name(node: ast.AST) -> str | None:
    """The name that this node gives to a variable or a parameter."""
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    return None


def test_every_folder_says_in_its_init_what_it_is_for() -> None:
    folders = {path.parent for path in python_files(*SOURCES)}
    bare = {"management", "commands", "templatetags"}
    silent = [
        str(folder.relative_to(ROOT))
        for folder in sorted(folders)
        if folder.name not in bare and not (folder / "__init__.py").read_text().strip()
    ]
    assert not silent


def test_every_module_says_what_lives_in_it() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in python_files(*SOURCES)
        if path.read_text().strip() and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert not silent


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_pinned_package_has_a_hash_and_no_address(name: str) -> None:
    text = (ROOT / f"{name}.txt").read_text()
    blocks = re.split(r"\n(?=[a-z0-9])", text.split("\n", 2)[2], flags=re.IGNORECASE)
    assert blocks
    for block in blocks:
        first = block.splitlines()[0]
        assert re.match(r"[A-Za-z0-9._-]+==\S+", first), first
        assert "--hash=sha256:" in block, first
    assert not re.search(r"https?:|file:|--(extra-)?index-url|--find-links", text)


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_asked_package_is_pinned(name: str) -> None:
    asked = re.findall(r"^([A-Za-z][\w.-]*)", (ROOT / f"{name}.in").read_text(), re.MULTILINE)
    pinned = re.findall(r"^([\w.-]+)==", (ROOT / f"{name}.txt").read_text(), re.MULTILINE)
    assert {plain(package) for package in asked} <= {plain(package) for package in pinned}


def test_the_same_version_is_pinned_everywhere() -> None:
    versions: dict[str, set[str]] = {}
    for name in REQUIREMENTS:
        text = (ROOT / f"{name}.txt").read_text()
        for package, version in re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE):
            versions.setdefault(package, set()).add(version)
    assert {package: found for package, found in versions.items() if len(found) > 1} == {}


def test_the_npm_lock_names_no_registry() -> None:
    text = (ROOT / "package-lock.json").read_text()
    assert '"integrity"' in text
    assert '"resolved"' not in text


def test_no_committed_file_names_this_machines_paths() -> None:
    home = str(ROOT).encode()
    naming = [str(path) for path in committed_files() if home in path.read_bytes()]
    assert not naming


def test_the_tools_floor_is_the_projects_floor() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    floor = project["project"]["requires-python"].removeprefix(">=")
    assert project["tool"]["mypy"]["python_version"] == floor
    assert project["tool"]["ruff"]["target-version"] == "py" + floor.replace(".", "")


def plain(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()


# --- The Procfile and compose -------------------------------------------------------------------


@pytest.fixture(scope="module")
def procfile() -> dict[str, str]:
    lines = (ROOT / "Procfile").read_text().splitlines()
    return dict(line.split(": ", 1) for line in lines if line)


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert isinstance(loaded, dict)
    return loaded


def test_compose_runs_the_commands_of_the_procfile(
    procfile: dict[str, str], compose: dict[str, Any]
) -> None:
    commands = {name: compose["services"][name]["command"] for name in procfile}
    assert commands == procfile


def test_compose_has_every_service_and_each_long_lived_one_a_health_check(
    procfile: dict[str, str], compose: dict[str, Any]
) -> None:
    lasting = {"db", "redis", *procfile}
    assert set(compose["services"]) == lasting | {"migrate"}
    for name in lasting:
        assert compose["services"][name]["healthcheck"]["test"], name


def test_compose_passes_every_setting_that_the_docs_name(compose: dict[str, Any]) -> None:
    text = (ROOT / "docs" / "production.md").read_text()
    documented = set(
        re.findall(r"`(TIERCEL_[A-Z_]+)`", " ".join(re.findall(r"(?m)^\| (`.*?) \|", text)))
    )
    passed = {name for each in compose["services"].values() for name in each.get("environment", {})}
    # Chosen in the command, for a command by hand, and never in production.
    assert documented - passed == {
        "TIERCEL_COLLECT_QUEUES",
        "TIERCEL_JOB_QUEUES",
        "TIERCEL_DB_ROLE",
        "TIERCEL_DEBUG",
    }


def test_only_worker_and_collector_are_given_the_secret_half(compose: dict[str, Any]) -> None:
    given = {
        name
        for name, service in compose["services"].items()
        if "TIERCEL_HOST_KEYS_SECRET" in service.get("environment", {})
    }
    assert given == {"worker", "collector"}


def test_only_the_migrations_are_given_the_owners_role(compose: dict[str, Any]) -> None:
    given = {
        name
        for name, service in compose["services"].items()
        if "tiercel_owner" in str(service.get("environment", {}))
    }
    assert given == {"migrate"}


def test_compose_holds_no_secret_and_publishes_only_on_loopback(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        for variable, value in service.get("environment", {}).items():
            if re.search("PASSWORD|SECRET|_KEY", variable):
                assert str(value).startswith("${"), f"{name}: {variable}"
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), f"{name}: {port}"


# --- The documents ------------------------------------------------------------------------------


PATH = re.compile(
    r"(?<![\w./-])((?:panel|jobs|storage|tests|static|templates|docs)/[\w/.-]*\w)(?:::(\w+))?"
)
DOCUMENTS = [
    path
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "tests" / "README.md")
    # It speaks of the past.
    if path.name != "CHANGELOG.md"
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_what_a_document_names_is_there(document: Path) -> None:
    text = document.read_text()
    for path, test in sorted(set(PATH.findall(" ".join(re.findall(r"`([^`]+)`", text))))):
        assert (ROOT / path).exists(), path
        assert not test or f"def {test}(" in (ROOT / path).read_text(), f"{path}::{test}"
    for link in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", text):
        assert (document.parent / link).exists(), link


def test_the_architecture_names_only_what_its_modules_define() -> None:
    """`module.py`: `function`, `other`."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = re.findall(r"`([\w/]+\.py)`:\s+((?:`\w+`(?:,\s+)?)+)", text)
    assert len(named) > 80
    missing = [
        f"{path}: {name}"
        for path, names in named
        for name in re.findall(r"\w+", names)
        if not re.search(
            rf"(?m)^\s*(?:async )?(?:def|class) {name}\b|^{name}\b", (ROOT / path).read_text()
        )
    ]
    assert missing == []


@pytest.mark.parametrize(("document", "at_least"), [("asvs.md", 60), ("security.md", 30)])
def test_a_document_of_security_names_its_evidence(document: str, at_least: int) -> None:
    named = PATH.findall((ROOT / "docs" / document).read_text())
    assert len(set(named)) > at_least


def test_a_comment_or_docstring_names_only_files_that_are_there() -> None:
    named = [
        (path.relative_to(ROOT), name)
        for path in python_files(*SOURCES, "tests")
        for name, _ in PATH.findall(path.read_text())
        if re.search(r"\.(py|md|html|toml|yaml|js|css|sh)$", name)
    ]
    assert len(named) > 20
    assert [each for each in named if not (ROOT / each[1]).exists()] == []


def test_every_requirement_of_the_asvs_has_its_line() -> None:
    text = (ROOT / "docs" / "asvs.md").read_text()
    states = re.findall(r"(?m)^\| \d+\.\d+\.\d+ \| ([\w/]+) \| .+ \|$", text)
    # Levels 1 and 2 of version 5.0.
    assert len(states) == 253
    assert set(states) == {"met", "part", "operator", "n/a"}
