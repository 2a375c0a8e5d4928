"""Statements that are compiled once a process and planned once a session, for the few that run many
times a second: both take longer than PostgreSQL needs to answer them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import django.db
from django.db import DEFAULT_DB_ALIAS
from django.db.models import Model, QuerySet, query
from psycopg.types.numeric import Int8

M = TypeVar("M", bound=Model)

connection: Any = django.db.connection
"""Of `panel.configuration.postgresql`, which prepares statements."""

FIRST_PLACE = -(10**15)
"""What stands for a key while a query is compiled; that of the next one is one lower."""


@dataclass(frozen=True, slots=True)
class _Compiled:
    """`places` are those of the keys among the parameters. Of the columns, `own` are those of the
    model itself, with their `names`, and as SQL."""

    sql: str
    parameters: tuple[Any, ...]
    places: tuple[int, ...]
    own: slice
    names: list[str]
    own_sql: str
    converters: dict[int, tuple[list[Callable[..., Any]], Any]]
    populators: list[Any]
    annotations: dict[str, int]


class CompiledQuery(Generic[M]):
    """`build` makes the queryset of primary keys, each of which it names once; `get` and `first`
    ask it for others. Related objects and annotations come as the queryset says."""

    def __init__(self, model: type[M], build: Callable[..., QuerySet[M]], *, keys: int = 1) -> None:
        self._model = model
        self._build = build
        self._keys = range(FIRST_PLACE, FIRST_PLACE - keys, -1)
        self._known: _Compiled | None = None

    def get(self, *keys: int | None) -> M:
        """The first row; raises the model's `DoesNotExist` where there is none."""
        first = self.first(*keys)
        if first is None:
            raise self._model.DoesNotExist  # type: ignore[attr-defined]
        return first

    def first(self, *keys: int | None) -> M | None:
        """The first row; None where there is none."""
        compiled = self._compiled()
        parameters = list(compiled.parameters)
        for place, key in zip(compiled.places, keys, strict=True):
            parameters[place] = None if key is None else Int8(key)
        row = _first_row(compiled.sql, parameters)
        return None if row is None else self._object(compiled, row)

    def returned(self, sql: str, parameters: Mapping[str, Any], *names: str) -> M | None:
        """The first row that a statement changed; None where it changed none. It gives back the
        `{columns}` of the query, and behind them what becomes attributes of those `names`."""
        compiled = self._compiled()
        row = _first_row(sql.replace("{columns}", compiled.own_sql), parameters)
        if row is None:
            return None
        changed = self._object(compiled, row)
        for name, value in zip(names, row[len(compiled.names) :], strict=True):
            setattr(changed, name, value)
        return changed

    def _compiled(self) -> _Compiled:
        if self._known is None:
            self._known = self._compile()
        return self._known

    def _compile(self) -> _Compiled:
        compiler: Any = self._build(*self._keys).query.get_compiler(DEFAULT_DB_ALIAS)
        populators_of: Any = query.get_related_populators
        sql, parameters = compiler.as_sql()
        chosen = compiler.klass_info["select_fields"]
        own = slice(chosen[0], chosen[-1] + 1)
        return _Compiled(
            sql,
            tuple(parameters),
            tuple(parameters.index(key) for key in self._keys),
            own,
            [column.target.attname for column, _, _ in compiler.select[own]],
            ", ".join(text for _, (text, _), _ in compiler.select[own]),
            compiler.get_converters([column for column, _, _ in compiler.select]),
            populators_of(compiler.klass_info, compiler.select, DEFAULT_DB_ALIAS),
            compiler.annotation_col_map,
        )

    def _object(self, compiled: _Compiled, row: Sequence[Any]) -> M:
        """As `QuerySet` makes it."""
        values = list(row)
        for place, (converters, column) in compiled.converters.items():
            for convert in converters:
                values[place] = convert(values[place], column, connection)
        row_object: M = self._model.from_db(DEFAULT_DB_ALIAS, compiled.names, values[compiled.own])
        for populator in compiled.populators:
            populator.populate(values, row_object)
        for name, place in compiled.annotations.items():
            setattr(row_object, name, values[place])
        return row_object


def _first_row(sql: str, parameters: Sequence[Any] | Mapping[str, Any]) -> tuple[Any, ...] | None:
    with connection.prepared_cursor() as cursor:
        cursor.execute(sql, parameters)
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row
