"""The published list of error codes is the one that the source can answer with."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from rest_framework import exceptions

from panel.api.framework.error_codes import ERROR_CODES
from panel.api.framework.problem import CODES, CORRECTIONS, doc_url
from panel.help.documents import document
from tests import make
from tests.panel.api.asking import member, problem
from tests.panel.api.test_openapi import described
from tests.proven import sign_in

PLACES = {"Refused": 0, "ApiProblem": 1, "OrderRefused": 0}
"""Where the code stands among the arguments."""
COMPUTED = {"no_capacity", "unavailable", "dirty", "degraded", "twins", "machine_changed"}
"""Those of which the source decides in an expression."""


def refusals() -> Iterator[tuple[str, str, ast.Call]]:
    """The name that is called, the code and the call, for each refusal of the source."""
    for folder in ("panel", "jobs", "storage"):
        for path in sorted((Path(settings.BASE_DIR) / folder).rglob("*.py")):
            if "migrations" in path.parts or "agent" in path.parts:
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                if not isinstance(node, ast.Call):
                    continue
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                place = PLACES.get(name)
                if place is None or len(node.args) <= place:
                    continue
                code = node.args[place]
                if isinstance(code, ast.Constant):
                    yield name, str(code.value), node


def of_the_source() -> set[str]:
    codes = {code for _, code, _ in refusals()} | COMPUTED
    refused = {CODES.get(code, code) for name, code, _ in refusals() if name == "Refused"}
    raised = {code for name, code, _ in refusals() if name != "Refused"}
    known = {
        each.default_code
        for each in vars(exceptions).values()
        if isinstance(each, type) and issubclass(each, exceptions.APIException)
    } & set(CORRECTIONS)
    assert len(codes) > 70
    return refused | raised | COMPUTED | known


def test_the_list_has_every_code_of_the_source_and_no_other() -> None:
    assert set(ERROR_CODES) - of_the_source() == set()
    assert of_the_source() - set(ERROR_CODES) == set()


def test_a_code_of_the_panels_own_failure_means_nothing_else() -> None:
    failures, refused = set(), set()
    for name, code, call in refusals():
        is_failure = name == "ApiProblem" and int(ast.literal_eval(call.args[0])) >= 500
        (failures if is_failure else refused).add(code)
    assert failures == {"internal", "service_unavailable"}
    assert failures & (refused | COMPUTED) == set()


def test_the_documents_have_the_list() -> None:
    text = (Path(settings.BASE_DIR) / "docs" / "api.md").read_text()
    listed = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", text.partition("## Error codes")[2], re.M))
    assert listed == ERROR_CODES


def test_the_page_that_a_problem_names_has_the_row_of_each_code() -> None:
    html = document("api").html
    for code in ERROR_CODES:
        page, _, anchor = doc_url(code).partition("#")
        assert page == f"{settings.TIERCEL_PUBLIC_URL}{reverse('help-document', args=['api'])}"
        assert html.count(f'id="{anchor}"') == 1, code


@pytest.mark.django_db
def test_everybody_who_may_sign_in_reads_the_page_that_a_problem_names() -> None:
    asking = member(make.customer())
    named = problem(asking.get("/volumes/nothing"), 404, "not_found")["doc_url"]
    assert named.endswith("/help/api/#code-not_found")
    browser = Client()
    sign_in(browser, asking.user)
    assert browser.get(reverse("help-document", args=["api"])).status_code == 200
    assert browser.get(reverse("help-document", args=["operators"])).status_code == 404


def test_the_description_has_the_list() -> None:
    schemas = described()["components"]["schemas"]
    code = schemas["ProblemShape"]["properties"]["code"]
    [reference] = code["allOf"]
    listed = schemas[reference["$ref"].rpartition("/")[2]]
    assert set(listed["enum"]) == set(ERROR_CODES)
