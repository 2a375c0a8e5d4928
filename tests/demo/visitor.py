"""A person at the panel, without a browser: keeps cookies, reads forms, sends them filled in.

It sends only what a form on the page offers, so what it can do, a person can click.
"""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.cookiejar import CookieJar

TIMEOUT_SECONDS = 30


@dataclass(slots=True)
class Form:
    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)


class FormReader(HTMLParser):
    """Collects the forms of a page with the values a browser would send unchanged."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            method = given.get("method", "get").lower()
            self.forms.append(Form(given.get("action", ""), method))
        if not self.forms:
            return
        form, name = self.forms[-1], given.get("name", "")
        if tag == "select":
            self._select = name
        elif tag == "option":
            self._option(form, given)
        elif tag == "textarea" and name:
            form.fields[name] = ""
        elif tag == "input" and name and "disabled" not in given:
            self._input(form, name, given)

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self._select = ""

    def _option(self, form: Form, given: dict[str, str]) -> None:
        if "disabled" in given or not self._select:
            return
        form.choices.setdefault(self._select, []).append(given.get("value", ""))
        if "selected" in given or self._select not in form.fields:
            form.fields[self._select] = given.get("value", "")

    def _input(self, form: Form, name: str, given: dict[str, str]) -> None:
        value = given.get("value", "")
        if given.get("type") in ("radio", "checkbox"):
            form.choices.setdefault(name, []).append(value)
            if "checked" not in given:
                return
        form.fields[name] = value


@dataclass(frozen=True, slots=True)
class Page:
    url: str
    status: int
    text: str

    def form(self, action_part: str) -> Form:
        """The first POST form whose action contains the text; raises LookupError naming the
        forms there are."""
        reader = FormReader()
        reader.feed(self.text)
        for form in reader.forms:
            target = urllib.parse.urljoin(self.url, form.action)
            if form.method == "post" and action_part in target:
                return form
        actions = [form.action for form in reader.forms]
        raise LookupError(f"no form for {action_part!r} on {self.url}; there are {actions}")


class Visitor:
    """One signed-in (or not yet signed-in) person."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self._opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(CookieJar()),
            urllib.request.ProxyHandler({}),
        )

    def get(self, path: str) -> Page:
        return self._open(urllib.request.Request(urllib.parse.urljoin(self.base_url, path)))

    def send(self, page: Page, action_part: str, **values: str) -> Page:
        """Fill the page's form with `values` and send it; raises LookupError for a field that
        the form does not have or a choice it does not offer."""
        form = page.form(action_part)
        for name, value in values.items():
            if name not in form.fields and name not in form.choices:
                raise LookupError(f"the form has no field {name!r}: {sorted(form.fields)}")
            if name in form.choices and value not in form.choices[name]:
                raise LookupError(f"{name} does not offer {value!r}: {form.choices[name]}")
        url = urllib.parse.urljoin(page.url, form.action)
        data = urllib.parse.urlencode(form.fields | values).encode()
        return self._open(urllib.request.Request(url, data, {"Referer": page.url}))

    def sign_in(self, email: str, password: str) -> Page:
        page = self.get("/")
        return self.send(page, "login", login=email, password=password)

    def _open(self, request: urllib.request.Request) -> Page:
        try:
            with self._opener.open(request, timeout=TIMEOUT_SECONDS) as reply:
                return Page(reply.geturl(), reply.status, reply.read().decode())
        except urllib.error.HTTPError as error:
            return Page(error.geturl(), error.code, error.read().decode())
