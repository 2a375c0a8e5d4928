"""Requests to a Tiercel panel, for the modules of this collection."""

from __future__ import annotations

import json
import re
import time
import uuid
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode

from ansible.module_utils.basic import AnsibleModule, env_fallback
from ansible.module_utils.urls import open_url

Json = dict[str, Any]
V1 = "/api/v1"
KEY = re.compile(r"[a-z2-7]{16}")
PANEL_OPTIONS: dict[str, Json] = {
    "panel_url": {"type": "str", "required": True, "fallback": (env_fallback, ["TIERCEL_URL"])},
    "panel_token": {
        "type": "str",
        "required": True,
        "no_log": True,
        "fallback": (env_fallback, ["TIERCEL_TOKEN"]),
    },
    "validate_certs": {"type": "bool", "default": True},
    "ca_path": {"type": "path"},
}
WAIT_OPTIONS: dict[str, Json] = {
    "wait": {"type": "bool", "default": True},
    "wait_timeout": {"type": "int", "default": 3600},
}
MAY_BE_EMPTY = ("description",)
PAGE_ITEMS = 200
ANSWER_SECONDS = 60
TRIES = 4
LONGEST_PAUSE_SECONDS = 60
WAIT_SECONDS = 25
POLL_SECONDS = 2.0
OVER = ("succeeded", "failed", "cancelled", "needs_attention")
PLANNING_SECONDS = 120


class Refused(Exception):
    """A problem that the panel answered with."""

    def __init__(self, status: int, body: Json) -> None:
        super().__init__(body.get("detail"))
        self.status = status
        self.body = body
        self.code = str(body.get("code") or status)


class Panel:
    """The panel of a task. Every failure ends the module, with the panel's own words."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        for name, option in module.argument_spec.items():
            value = module.params[name]
            is_name = option["type"] == "str" and name not in MAY_BE_EMPTY
            if is_name and value is not None and not value.strip():
                module.fail_json(msg=f"{name} is empty and names nothing.")
        self._url = module.params["panel_url"].rstrip("/") + V1

    def get(self, path: str, **query: Any) -> Any:
        return self.send("GET", path, query=query)

    def send(self, method: str, path: str, body: Any = None, query: Json | None = None) -> Any:
        """The answer; ends the module where the panel refuses."""
        try:
            return self.attempt(method, path, body, query)
        except Refused as refused:
            self.fail(refused)

    def attempt(self, method: str, path: str, body: Any = None, query: Json | None = None) -> Any:
        """The answer; raises `Refused`. A request that is lost is repeated with its key."""
        headers = {
            "Authorization": f"Bearer {self.module.params['panel_token']}",
            "Accept": "application/json",
            "Content-Type": "application/json",
        }
        if method != "GET":
            headers["Idempotency-Key"] = str(uuid.uuid4())
        url = self._url + path + _query(query or {})
        for attempt in range(1, TRIES + 1):
            try:
                answer = open_url(
                    url,
                    data=None if body is None else json.dumps(body).encode(),
                    headers=headers,
                    method=method,
                    timeout=ANSWER_SECONDS,
                    validate_certs=self.module.params["validate_certs"],
                    ca_path=self.module.params["ca_path"],
                    follow_redirects="none",
                )
                return self._read(answer.read())
            except HTTPError as error:
                content, pause = error.read(), _retry_after(error)
                comes_later = error.code in (429, 503) or b"idempotency_key_in_use" in content
                if attempt < TRIES and comes_later and pause <= LONGEST_PAUSE_SECONDS:
                    time.sleep(pause or attempt)
                    continue
                raise self._refusal(error.code, content) from None
            except OSError as error:
                if attempt == TRIES:
                    self.module.fail_json(msg=f"The panel does not answer: {error}")
                time.sleep(attempt)
        raise AssertionError("the last attempt returns or raises")

    def items(self, path: str, **query: Any) -> list[Json]:
        """All of a list."""
        rows: list[Json] = []
        cursor = None
        while True:
            page = self.get(path, limit=PAGE_ITEMS, cursor=cursor, **query)
            rows += page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return rows

    def one_of(self, path: str, name: str, fields: tuple[str, ...], noun: str) -> Json:
        """The row of a list that has this name in one of the fields; ends the module for none."""
        rows = [row for row in self.items(path) if name in [row[field] for field in fields]]
        if len(rows) != 1:
            several = "More than one" if rows else "No"
            self.module.fail_json(msg=f"{several} {noun} is called {name!r}.")
        return rows[0]

    def by_external_id(self, path: str, name: str) -> Json | None:
        """The row of a list that has this external id, which one row has."""
        rows = self.get(path, external_id=name)["items"]
        if len(rows) > 1 or any(row["external_id"] != name for row in rows):
            self.module.fail_json(msg=f"More than one row has the external id {name!r}.")
        return dict(rows[0]) if rows else None

    def volume(self, name: str) -> Json | None:
        """The volume of this key or external id. A key goes before an external id of the same
        text."""
        if KEY.fullmatch(name):
            try:
                return dict(self.attempt("GET", f"/volumes/{name}"))
            except Refused as refused:
                if refused.status != 404:
                    self.fail(refused)
        return self.by_external_id("/volumes/", name)

    def ended(self, job: Json, within: float) -> Json:
        """The job once it has ended; ends the module where it did not succeed."""
        end = time.monotonic() + within
        while job["state"] not in OVER:
            left = end - time.monotonic()
            if left <= 0:
                self.module.fail_json(
                    msg=f"Job {job['key']} has not ended after {within:.0f} seconds; it goes on.",
                    job=job,
                )
            begun = time.monotonic()
            job = self.get(f"/jobs/{job['key']}", wait=int(min(WAIT_SECONDS, max(left, 1))))
            if job["state"] not in OVER:
                # Where the panel had no place to wait, it answered at once.
                time.sleep(max(0.0, min(POLL_SECONDS, left) - (time.monotonic() - begun)))
        if job["state"] != "succeeded":
            error = job["error"] or {}
            what = f"Job {job['key']} has ended as {job['state']}."
            words = [what, error.get("message"), error.get("correction")]
            self.module.fail_json(
                msg=" ".join(filter(None, words)), code=error.get("code", job["state"]), job=job
            )
        return job

    def planned(self, path: str, body: Json) -> tuple[Json, list[str]]:
        """The answer to a dry run once its commands are known, and these."""
        answer = self.send("PUT", path, body, {"dry_run": "true", "wait": WAIT_SECONDS})
        if "is_met" in answer:
            return answer, []
        job = self.ended(answer, PLANNING_SECONDS)
        commands = [c["shell"] for step in job.get("steps", []) for c in step["commands"]]
        return job, commands

    def fail(self, refused: Refused) -> None:
        """End the module with what the panel says."""
        body = refused.body
        faults = [
            f"{each.get('pointer') or each.get('parameter') or 'body'}: {each.get('message')}"
            for each in body.get("errors", [])
        ]
        words = [body.get("detail"), *faults, body.get("correction")]
        self.module.fail_json(
            msg=" ".join(filter(None, words)) or f"The panel answers {refused.status}.",
            code=refused.code,
            status=refused.status,
            problem=body,
        )

    def _read(self, content: bytes) -> Any:
        if not content:
            return None
        try:
            return json.loads(content)
        except ValueError:
            self.module.fail_json(msg=f"What answers at {self._url} is no API of Tiercel.")

    def _refusal(self, status: int, content: bytes) -> Refused:
        try:
            body = json.loads(content)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            body = {"detail": f"What answers at {self._url} is no API of Tiercel ({status})."}
        return Refused(status, body)


def changes(before: Json, wanted: Json) -> Json:
    """What is wanted and is not so; None is not wanted."""
    return {
        name: value
        for name, value in wanted.items()
        if value is not None and before.get(name) != value
    }


def diff_of(before: Json | None, after: Json | None, title: str) -> Json:
    """For `--diff`."""
    return {
        "before": before or {},
        "after": after or {},
        "before_header": title,
        "after_header": title,
    }


def _query(query: Json) -> str:
    named = {name: value for name, value in query.items() if value is not None}
    return f"?{urlencode(named)}" if named else ""


def _retry_after(error: HTTPError) -> int:
    text = error.headers.get("Retry-After") or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
