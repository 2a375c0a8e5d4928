"""What one method of one address does: its name in clients, what it takes and what it answers. The
view that serves it, the refusal of what it does not take, and its description read it here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from panel.api.deprecations import Deprecation
from panel.api.framework.api_lists import Listing
from panel.api.framework.bodies import Body
from panel.api.framework.parameters import Parameter, Truth
from panel.api.framework.shape import Shape

Method = TypeVar("Method", bound=Callable[..., Any])
DRY_RUN: Final = Truth(
    "dry_run",
    "Changes nothing. Returns a job whose steps show the commands.",
    is_boolean=True,
)


@dataclass(frozen=True, slots=True)
class Operation:
    """`answers` has what is shown by status, alone or with a text. 401, 403, and 404 of what has a
    key or is for staff, 400 of what has parameters, and 422 of what has a body, are added
    automatically; `problems` are further statuses."""

    name: str
    summary: str
    answers: Mapping[Any, Any]
    body: type[Body] | None
    parameters: Sequence[Parameter]
    problems: Sequence[int]
    deprecated: Deprecation | None

    def shape_of(self, status: int) -> type[Shape]:
        """What is shown with this status; raises LookupError where that is no shape."""
        shown = self.answers[status]
        shown = shown[0] if isinstance(shown, tuple) else shown
        if not (isinstance(shown, type) and issubclass(shown, Shape)):
            raise LookupError(f"{self.name} has no shape for {status}")
        return shown


def operation(
    name: str,
    summary: str,
    shows: Any = None,
    *,
    status: int | None = None,
    body: type[Body] | None = None,
    parameters: Sequence[Parameter] = (),
    problems: Sequence[int] = (),
    deprecated: Deprecation | None = None,
) -> Callable[[Method], Method]:
    """Makes a method of a `Resource` an `Operation`, described by its docstring. `shows` is a
    shape, a `Listing`, nothing (204), or all of it by status."""
    if isinstance(shows, Listing):
        parameters = (*shows.parameters, *parameters)
        shows = shows.page_shape
    answers = shows if isinstance(shows, dict) else {status or (200 if shows else 204): shows}
    made = Operation(name, summary, answers, body, parameters, problems, deprecated)

    def declared(method: Method) -> Method:
        method.operation = made  # type: ignore[attr-defined]
        return method

    return declared


def operation_of(view: type, method: str) -> Operation | None:
    """What the view does by that method; None where that is in no description."""
    name = "get" if method == "HEAD" else method.lower()
    own: Operation | None = getattr(getattr(view, name, None), "operation", None)
    return own
