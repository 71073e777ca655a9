"""GROUP BY: which of its expressions are windows, and what the others are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from muntin.declare.query import RESERVED
from muntin.declare.sql import azure_windows, spark_window
from muntin.declare.sql.expression import input_expression, is_system_window, is_timestamp, spark_text, spelling
from muntin.declare.sql.query import OWN_NAMES, Key

if TYPE_CHECKING:
    from muntin.declare.sql.source import Source
    from muntin.window.spec import Window

_NEEDED = {
    True: "Add one to GROUP BY, for example TumblingWindow(minute, 5)",
    False: "Add one to GROUP BY, for example window(ts, '5 minutes')",
}


@dataclass(frozen=True, slots=True)
class Grouping:
    """Hold the keys by the spelling of their expressions, and the windows.

    `time` is the first argument of Spark's `window()`, `window` the spelling of that call.
    """

    keys: dict[str, Key]
    windows: tuple[Window, ...]
    time: exp.Expr | None = None
    window: str | None = None
    kinds: frozenset[type[exp.Expr]] = frozenset()
    """The classes of the keys' expressions: only such a node can be a key."""


def read_grouping(
    select: exp.Select,
    time: exp.Expr | None,
    moment: exp.Expr | None,
    source: Source,
    *,
    azure: bool,
    columns: frozenset[str] = frozenset(),
) -> Grouping:
    """Read GROUP BY; `time` is what TIMESTAMP BY gave, `moment` what stands for `System.Timestamp()`.

    `columns` are the input's, in lower case, where they are known.
    """
    group = select.args.get("group")
    if group is None:
        source.fail_clause(f"the query has no window. {_NEEDED[azure]}", "FROM")
    for argument, value in group.args.items():
        if value and argument != "expressions":
            source.fail_clause(
                f"GROUP BY {argument.replace('_', ' ').upper()} is not offered: name the keys", "GROUP BY"
            )
    items = [_resolve(item.unnest(), select, source, columns, azure=azure) for item in group.expressions]
    windows: list[exp.Expr] = []
    keys: dict[str, Key] = {}
    taken = set(OWN_NAMES)
    kinds = frozenset(type(item) for item in items)
    for item in items:
        if azure_windows.is_window(item) if azure else spark_window.is_window(item):
            windows.append(item)
            continue
        _check_key(item, source, azure=azure)
        text = spelling(item)
        if text not in keys:
            checked = input_expression(item, source, azure=azure, time=moment, place="GROUP BY")
            name = unique(_name(item, select, len(keys) + 1), taken)
            keys[text] = Key(name, spark_text(checked, source), source.place(item))
    if not windows:
        source.fail_clause(f"the query has no window. {_NEEDED[azure]}", "GROUP BY")
    if azure:
        _check_time(time, items, source)
        if len(windows) > 1:
            source.fail_on(
                "GROUP BY holds a second window: put them together, Windows(Window('a', ...), Window('b', ...))",
                windows[1],
            )
        return Grouping(keys, azure_windows.azure_windows(windows[0], source), kinds=kinds)
    if len({spelling(window) for window in windows}) > 1:
        source.fail_on(
            "GROUP BY holds a second window(): Spark refuses that too. For several windows in one query use the form "
            "GROUP BY Windows(Window('a', TumblingWindow(minute, 5)), ...) of Azure Stream Analytics",
            windows[1],
        )
    time, window = spark_window.spark_window(windows[0], source)
    _check_time(time, items, source)
    return Grouping(keys, (window,), time, spelling(windows[0]), kinds)


def unique(name: str, taken: set[str]) -> str:
    """Give a name that is not taken in any case, with a number after it where it was, and take it.

    >>> taken = {"a"}
    >>> unique("A", taken), unique("b", taken), sorted(taken)
    ('A_2', 'b', ['a', 'a_2', 'b'])
    """
    found, number = name, 2
    while found.lower() in taken:
        found, number = f"{name}_{number}", number + 1
    taken.add(found.lower())
    return found


def _resolve(item: exp.Expr, select: exp.Select, source: Source, columns: frozenset[str], *, azure: bool) -> exp.Expr:
    # Spark's GROUP BY may name an item of the SELECT list by its place or its alias, Azure's may not.
    if azure:
        if isinstance(item, exp.Window) and azure_windows.is_window(item.this):
            azure_windows.azure_windows(item.this, source)  # a session window is refused there, and has an OVER
            source.fail_on("OVER (...) goes with session windows only: leave it out, and group by its columns", item)
        return item
    if isinstance(item, exp.Literal) and item.is_int:
        place = int(item.name)
        if not 1 <= place <= len(select.expressions):
            source.fail_on(f"GROUP BY {place}: the SELECT list has {len(select.expressions)} items", item)
        chosen: exp.Expr = select.expressions[place - 1].unalias()
        return chosen
    # A column of the input comes before an alias: `SELECT a AS b ... GROUP BY a, b` groups by both.
    if isinstance(item, exp.Column) and len(item.parts) == 1 and item.name.lower() not in columns:
        for output in select.expressions:
            same = isinstance(output, exp.Alias) and output.alias.lower() == item.name.lower()
            # So does that of `upper(a) AS a ... GROUP BY a`, and what `max(x) AS a` stands for is no key.
            own = same and any(c.name.lower() == item.name.lower() for c in output.this.find_all(exp.Column))
            if same and not own and output.this.find(exp.AggFunc) is None:
                named: exp.Expr = output.this.unnest()
                return named
    return item


def _check_key(item: exp.Expr, source: Source, *, azure: bool) -> None:
    if azure and is_timestamp(item):
        source.fail_on(
            "GROUP BY System.Timestamp() is a snapshot window: it groups events with the very same time, and that is "
            "no window of any length. Group by the time column in a query without windows",
            item,
        )
    if azure and (is_system_window(item) or is_system_window(item.this)):
        source.fail_on("rows are grouped by window already: leave System.Window() out of GROUP BY", item)
    if azure and isinstance(item, exp.Anonymous) and item.name.lower() == "window":
        source.fail_on("Window('id', ...) stands inside Windows(...): write GROUP BY Windows(Window('id', ...))", item)
    if isinstance(item, (exp.Rollup, exp.Cube, exp.GroupingSets)):
        source.fail_on(f"GROUP BY {item.key.upper()} is not offered: name the keys", item, "GROUP BY")
    if isinstance(item, (exp.Literal, exp.Tuple)):
        source.fail_on(
            "expected a column, an expression or a window in GROUP BY, one after the other", item, "GROUP BY"
        )


def _check_time(time: exp.Expr | None, items: list[exp.Expr], source: Source) -> None:
    for item in items:
        if time is not None and spelling(item) == spelling(time):
            source.fail_on(
                "the time of the events cannot be a key too: every instant would be a group of its own. "
                "Leave it out of GROUP BY",
                item,
            )


def _name(item: exp.Expr, select: exp.Select, number: int) -> str:
    if isinstance(item, (exp.Column, exp.Dot)) and item.name:
        return item.name.lower().replace(RESERVED, "key_", 1) if item.name.lower().startswith(RESERVED) else item.name
    text = spelling(item)
    for output in select.expressions:
        if isinstance(output, exp.Alias) and spelling(output.this) == text:
            return output.alias
    return f"key_{number}"
