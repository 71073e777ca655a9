"""Rows of a stream as the current rows of a table of PostgreSQL: inserted or updated, a transaction a micro-batch."""

from __future__ import annotations

import importlib.util
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, LiteralString, NamedTuple

from muntin.errors import SinkError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from psycopg import Cursor
    from psycopg.sql import Composed
    from pyspark.sql import DataFrame

# So many rows are Python values at once; the others stay in Arrow's columns.
_AT_ONCE: Final = 10_000
# Rows of a micro-batch wait in a table of the session's own, with the types of the real one and none of its rules.
_WAIT: Final = "CREATE TEMPORARY TABLE muntin_rows ON COMMIT DROP AS SELECT {columns} FROM {table} WITH NO DATA"
_COPY: Final = "COPY muntin_rows ({columns}) FROM STDIN"
# In the order of their keys, so that two streams into one table cannot wait for one another. A row that is as it was
# is left alone: what is written again changes nothing.
_INSERT: Final = (
    "INSERT INTO {table} AS kept ({columns}) SELECT {columns} FROM muntin_rows ORDER BY {keys} ON CONFLICT ({keys}) "
)
_UPDATE: Final = "DO UPDATE SET {changes} WHERE ROW({old}) IS DISTINCT FROM ROW({new})"
# Spark's names of types as PostgreSQL's, for the table that is proposed where there is none.
_TYPES: Final = {
    "string": "text",
    "tinyint": "smallint",
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "float": "real",
    "double": "double precision",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
    "binary": "bytea",
}
_NESTED: Final = ("struct<", "array<", "map<", "variant")


class Column(NamedTuple):
    """A column of the table: its name, Spark's expression for it, and PostgreSQL's type for that."""

    name: str
    text: str
    type: str


@dataclass(frozen=True, slots=True)
class Upsert:
    """Write the rows of a micro-batch: the function for `foreachBatch` that `upsert` makes."""

    to: str = field(repr=False)  # It may hold a password.
    table: str
    columns: tuple[Column, ...]
    keys: tuple[str, ...]

    def __call__(self, rows: DataFrame, batch: int = 0) -> None:
        """Insert or update rows, all or none; `batch`, which Spark passes, does not matter."""
        found = rows.selectExpr(*(column.text for column in self.columns)).toArrow()
        if not found.num_rows:
            return
        for key in self.keys:
            if found.column(key).null_count:
                msg = (
                    f"a row for table {self.table} has no {key}, and PostgreSQL takes two nulls for two keys: filter "
                    f"such events out, or name them, as with keys=F.coalesce({key!r}, F.lit('none')).alias({key!r})"
                )
                raise SinkError(msg)
        with self._transaction() as cursor:
            with cursor.copy(self._composed(_COPY)) as copy:
                for part in found.to_batches(max_chunksize=_AT_ONCE):
                    for row in zip(*(column.to_pylist() for column in part.columns), strict=True):
                        copy.write_row(row)
            cursor.execute(self._statement())

    def check(self) -> None:
        """Have PostgreSQL plan the statement and not run it: the table, its columns, keys and rights are looked at."""
        from psycopg import errors, sql

        try:
            with self._transaction() as cursor:
                cursor.execute(sql.SQL("EXPLAIN ") + self._statement())
        except SinkError as error:
            table, keys = _shown(*self.table.split(".")), ", ".join(map(_shown, self.keys))
            columns = ", ".join(f"{_shown(column.name)} {column.type}" for column in self.columns)
            match error.__cause__:
                case errors.UndefinedTable():
                    advice = f"Make one: CREATE TABLE {table} ({columns}, PRIMARY KEY ({keys}))"
                case errors.UndefinedColumn():
                    advice = f"The rows have these columns: {columns}"
                case errors.InvalidColumnReference():
                    advice = f"The keys must be its own: ALTER TABLE {table} ADD PRIMARY KEY ({keys})"
                case _:
                    raise
            msg = f"{error}. {advice}"
            raise SinkError(msg) from error.__cause__

    @contextmanager
    def _transaction(self) -> Iterator[Cursor[Any]]:
        """Connect, make the table in which rows wait, and commit in the end; say in one line what goes wrong."""
        import psycopg

        try:
            with psycopg.connect(self.to) as connection, connection.cursor() as cursor:
                cursor.execute(self._composed(_WAIT))
                yield cursor
        except psycopg.Error as error:
            why = error.diag.message_primary or " ".join(str(error).split())
            msg = f"cannot write to table {self.table} of PostgreSQL: {why}"
            raise SinkError(msg) from error

    def _statement(self) -> Composed:
        from psycopg import sql

        names = [sql.Identifier(column.name) for column in self.columns if column.name not in self.keys]
        if not names:
            return self._composed(_INSERT) + sql.SQL("DO NOTHING")
        old = [sql.SQL("kept.{}").format(name) for name in names]
        new = [sql.SQL("EXCLUDED.{}").format(name) for name in names]
        changes = [sql.SQL("{} = {}").format(*pair) for pair in zip(names, new, strict=True)]
        comma = sql.SQL(", ")
        update = sql.SQL(_UPDATE).format(changes=comma.join(changes), old=comma.join(old), new=comma.join(new))
        return self._composed(_INSERT) + update

    def _composed(self, text: LiteralString) -> Composed:
        """Put names into a statement, quoted."""
        from psycopg import sql

        comma = sql.SQL(", ")
        return sql.SQL(text).format(
            table=sql.Identifier(*self.table.split(".")),
            columns=comma.join(sql.Identifier(column.name) for column in self.columns),
            keys=comma.join(map(sql.Identifier, self.keys)),
        )


def upsert(rows: DataFrame, to: str, table: str, *, keys: str | Sequence[str]) -> Upsert:
    """Make the function that keeps a table of PostgreSQL up to date with rows like `rows`, one row for each key.

    `to` is what libpq takes, such as "postgresql://user@host/database" or "service=features"; `table` may be
    "schema.table"; `keys` are the columns by which rows are told apart, on which the table has a primary key or a
    unique constraint. A window is two columns, its start and its end. What is wrong with the table is said now, and
    not by a stream that fails later.

        latest = plan.stream(mode="latest")
        write = upsert(latest, "service=features", "features", keys="device")
        latest.writeStream.foreachBatch(write).option("checkpointLocation", "ck/").start()

    Each micro-batch is one transaction. Written again, as after a crash, it changes nothing.
    """
    if importlib.util.find_spec("psycopg") is None:
        msg = "writing to PostgreSQL needs the package psycopg: pip install 'muntin[postgres]'"
        raise SinkError(msg)
    columns = tuple(_columns(rows))
    names = [column.name for column in columns]
    given = (keys,) if isinstance(keys, str) else tuple(keys)
    missing = [key for key in given if key not in names]
    if missing or not given:
        what = f"there is no column {missing[0]!r}" if missing else "there are no keys"
        msg = f"{what}: name those of {', '.join(names)} by which rows are told apart"
        raise SinkError(msg)
    found = Upsert(to, table, columns, given)
    found.check()
    return found


def _columns(rows: DataFrame) -> Iterator[Column]:
    for column in rows.schema.fields:
        name, kind = column.name, column.dataType.simpleString()
        quoted = "`" + name.replace("`", "``") + "`"
        if kind in ("struct<start:timestamp,end:timestamp>", "struct<start:timestamp_ntz,end:timestamp_ntz>"):
            for end, each in zip(("start", "end"), column.dataType, strict=True):  # type: ignore[call-overload]
                called = f"{name}_{end}"
                text = f"{quoted}.`{end}` AS `{called.replace('`', '``')}`"
                yield Column(called, text, _TYPES[each.dataType.simpleString()])
        elif kind.startswith(_NESTED):
            msg = f"column {name!r} is of type {kind}, and a table holds plain values: take it apart, or drop it"
            raise SinkError(msg)
        else:
            yield Column(name, quoted, _TYPES.get(kind, kind.replace("decimal", "numeric")))


def _shown(*names: str) -> str:
    """Quote a name as SQL does.

    >>> _shown("public", 'a"b')
    '"public"."a""b"'
    """
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)
