"""The same plan without the page: as Python to copy, and as a command."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

from muntin.aggregate.algebra import Aggregate

if TYPE_CHECKING:
    from muntin.aggregate.algebra import AggregateFunction
    from muntin.api import LogicalPlan
    from muntin.studio.request import Ask
    from muntin.window.spec import Window

TIME = "ts"
"""What the events' time is called where a query does not say."""


def python_code(ask: Ask, plan: LogicalPlan) -> str:
    """Write Python that plans and runs the same over a DataFrame.

    >>> from muntin.studio.model import planned
    >>> from muntin.studio.request import read_ask
    >>> ask = read_ask({"windows": [{"range": "20m"}], "aggregates": "low=min(temp)", "rate": "100"})
    >>> print(python_code(ask, planned(ask)))
    import muntin as mt
    from muntin import Window, agg, hopping, tumbling
    <BLANKLINE>
    # The plan on paper
    plan = mt.optimize(
        [tumbling('20m')],
        [agg.min],
        optimizer='auto',
        rate='100',
    )
    print(plan.explain())
    <BLANKLINE>
    # On Spark, over a DataFrame df of events
    query = (
        mt.windows(df, time='ts', keys=[])
        .over(tumbling('20m'))
        .agg(low=agg.min('temp'))
    )
    query.plan(optimizer='auto').run().show()
    """
    windows = ", ".join(map(repr, ask.windows))
    functions = ", ".join(f"agg.{function.name}" for function in ask.functions)
    options = [f"[{windows}]", f"[{functions}]", f"optimizer={ask.optimizer!r}", f"rate={ask.rate!r}"]
    if ask.unit is not None:
        options.append(f"unit={int(ask.unit) if ask.unit.isdecimal() else ask.unit!r}")
    if ask.period != "paper":
        options.append(f"period={ask.period!r}")
    lines = [
        "import muntin as mt",
        "from muntin import Window, agg, hopping, tumbling",
        "",
        "# The plan on paper",
        "plan = mt.optimize(",
        *(f"    {option}," for option in options),
        ")",
        "print(plan.explain())",
    ]
    if plan.windows[0].timed:
        lines += ["", "# On Spark, over a DataFrame df of events", *_query(ask, windows)]
        lines.append(f"query.plan(optimizer={ask.optimizer!r}).run().show()")
    return "\n".join(lines)


def command_line(ask: Ask) -> str:
    """Write the command that shows the same plan.

    >>> from muntin.studio.request import read_ask
    >>> print(command_line(read_ask({"windows": [{"range": "1h", "slide": "10m", "id": "one hour"}]})))
    muntin plan -w 'one hour=1h/10m' -a min
    """
    words = ["muntin", "plan"]
    for window in ask.windows:
        words += ["-w", window_text(window)]
    for function in ask.functions:
        words += ["-a", function.name]
    for option, value, usual in (
        ("--optimizer", ask.optimizer, "auto"),
        ("--rate", ask.rate, "1"),
        ("--unit", ask.unit or "", ""),
        ("--period", ask.period, "paper"),
    ):
        words += [option, value] if value != usual else []
    return shlex.join(words)


def window_text(window: Window) -> str:
    """Write a window as commands take it, with its id if it was given one.

    >>> from muntin import tumbling
    >>> window_text(tumbling("20m")), window_text(tumbling("20m", id="short"))
    ('20m', 'short=20m')
    """
    return str(window) if window.id == window.default_id else f"{window.id}={window}"


def _query(ask: Ask, windows: str) -> list[str]:
    if ask.query is None:
        keys = ", ".join(map(repr, ask.keys))
        aggregates = ", ".join(f"{name}={_call(what)}" for name, what in ask.aggregates)
        return [
            "query = (",
            f"    mt.windows(df, time={TIME!r}, keys=[{keys}])",
            f"    .over({windows})",
            f"    .agg({aggregates})",
            ")",
        ]
    plain = '"""' not in ask.text and "\\" not in ask.text
    text = f'"""\n{ask.text.strip()}\n"""' if plain and not ask.text.rstrip().endswith('"') else repr(ask.text)
    time = "" if ask.query.time else f", time={TIME!r}"
    source = ask.query.source
    named = f"{source}=df" if re.fullmatch(r"[A-Za-z_]\w*", source) else f"**{{{json.dumps(source)}: df}}"
    return [f"query = mt.sql({text}{time}, {named})"]


def _call(what: Aggregate | AggregateFunction) -> str:
    if not isinstance(what, Aggregate):
        return f"agg.{what.name}({', '.join(map(repr, guessed_columns(what)))})"
    words = [*map(repr, what.columns), *(f"{name}={value!r}" for name, value in what.params)]
    words += [] if what.filter is None else [f"filter={what.filter!r}"]
    return f"agg.{what.function.name}({', '.join(words)})"


def guessed_columns(function: AggregateFunction) -> tuple[str, ...]:
    """Name columns for an aggregate that was given none.

    >>> from muntin import agg
    >>> guessed_columns(agg.count), guessed_columns(agg.min), guessed_columns(agg.arg_max)
    ((), ('value',), ('value', 'other'))
    """
    return ("value", "other")[: function.arity - function.optional_columns]
