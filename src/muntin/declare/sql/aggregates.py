"""Calls of aggregates in SQL, by the names of muntin's own."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NoReturn

from sqlglot import exp

from muntin.aggregate.names import BUILT_IN, find

if TYPE_CHECKING:
    from muntin.declare.sql.source import Source

WHOLE_RECORD = "struct(*)"

_CLASSES: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.CountIf: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Stddev: "stddev",
    exp.StddevSamp: "stddev",
    exp.StddevPop: "stddev_pop",
    exp.Variance: "variance",
    exp.VariancePop: "var_pop",
    exp.Median: "median",
    exp.Quantile: "median",
    exp.ApproxQuantile: "approx_quantile",
    exp.ApproxDistinct: "approx_distinct",
    exp.ArgMax: "arg_max",
    exp.ArgMin: "arg_min",
    exp.First: "first",
    exp.FirstValue: "first",
    exp.AnyValue: "first",  # Spark's any_value is its first
    exp.Last: "last",
    exp.LastValue: "last",
    exp.ArrayAgg: "collect",
    exp.ArrayUniqueAgg: "collect_distinct",
    exp.LogicalOr: "any",
    exp.LogicalAnd: "all",
    exp.GroupConcat: "concat",
}
_DISTINCT = {"count": "count_distinct", "collect": "collect_distinct", "min": "min", "max": "max"}
_FLAGS = {"this", "expression", "expressions", "quantile", "big_int", "nulls_excluded", "error_nth_inside"}
SQL_NAMES = ("avg", "count", "min", "max", "sum", "stdev", "stdevp", "var", "varp", "collect", "topone", "median",
             "approx_count_distinct", "percentile_approx", "first", "last", "max_by", "min_by")  # fmt: skip
"""What to offer in place of a name that is not known."""
_WINDOWS = ("tumblingwindow", "hoppingwindow", "windows")


@dataclass(frozen=True, slots=True)
class Call:
    """Hold a call whose arguments are still expressions of the input; none of them stands for the whole record."""

    function: str
    arguments: tuple[exp.Expr | None, ...] = ()
    params: tuple[tuple[str, object], ...] = ()
    filter: exp.Expr | None = None


def is_aggregate(node: exp.Expr) -> bool:
    """Tell whether a function aggregates, whether it is offered or not.

    >>> is_aggregate(exp.func("max", exp.column("x"))), is_aggregate(exp.func("upper", exp.column("x")))
    (True, False)
    """
    if isinstance(node, (exp.AggFunc, exp.WithinGroup, exp.Filter, exp.IgnoreNulls, exp.RespectNulls)):
        return True
    if isinstance(node, exp.Window):
        return True
    return isinstance(node, exp.Anonymous) and (node.name.lower() == "topone" or find(node.name) is not None)


def read_call(node: exp.Expr, source: Source) -> Call:
    """Read an aggregate that `is_aggregate` found, with its FILTER or its order."""
    if isinstance(node, exp.Filter):
        inner = read_call(node.this, source)
        given = node.expression.this
        return replace(inner, filter=given if inner.filter is None else exp.and_(inner.filter, given))
    if isinstance(node, exp.Window):
        return _top_one(node, source)
    if isinstance(node, (exp.IgnoreNulls, exp.RespectNulls)):
        source.fail_on("IGNORE NULLS is not offered: write f(x) FILTER (WHERE x IS NOT NULL)", node)
    if isinstance(node, exp.Anonymous):
        return _by_name(node, source)
    function = _CLASSES.get(type(node))
    if function is None:
        fail_unknown(node, source)
    return _known(node, function, source)


# How a time is made, which is the first thing that a file without one needs, and cut.
_AZURE_SAYS: Final = {
    "make_timestamp": "DATETIMEFROMPARTS(year, month, day, hour, minute, second, millisecond)",
    "timestamp_seconds": "DATEADD(second, x, CAST('1970-01-01' AS datetime))",
    "timestamp_millis": "DATEADD(millisecond, x, CAST('1970-01-01' AS datetime))",
    "date_trunc": "DATETRUNC(hour, t)",
    "to_timestamp": "CAST(x AS datetime)",
    "try_to_timestamp": "TRY_CAST(x AS datetime)",
}


def fail_unknown(node: exp.Expr, source: Source, also: tuple[str, ...] = ()) -> NoReturn:
    """Refuse a function that is not known, with the names nearest to it."""
    call = node.this if isinstance(node, exp.WithinGroup) else node
    name = call.sql_name().lower() if isinstance(call, exp.Func) and not isinstance(call, exp.Anonymous) else call.name
    close = difflib.get_close_matches(name.lower(), (*SQL_NAMES, *BUILT_IN, *_WINDOWS), n=3)
    close = close or difflib.get_close_matches(name.lower(), [word.lower() for word in also], n=3, cutoff=0.75)
    if also and name.lower() in _AZURE_SAYS:
        source.fail_on(f"{name} is Spark's. Azure Stream Analytics says {_AZURE_SAYS[name.lower()]}", node)
    guess = f" Did you mean {' or '.join(dict.fromkeys(close))}?" if close else ""
    source.fail_on(f"unknown function {name!r}.{guess} Aggregates are {', '.join(SQL_NAMES)}", node)


def _by_name(node: exp.Anonymous, source: Source) -> Call:
    if node.name.lower() == "topone":
        source.fail_on("TopOne needs an order: write TopOne() OVER (ORDER BY x DESC)", node)
    function = find(node.name)
    if function is None:  # nobody(x) FILTER (WHERE ...)
        fail_unknown(node, source)
    arguments: tuple[exp.Expr | None, ...] = tuple(node.expressions)
    if arguments and isinstance(arguments[0], exp.Distinct):
        return _distinct(arguments[0], function.name, node, source)
    if function.name == "approx_quantile" and len(arguments) == 2:
        # The T-SQL of sqlglot knows no percentile_approx.
        quantile = exp.ApproxQuantile(this=arguments[0], quantile=arguments[1])
        return _plain(_quantile(quantile, function.name, source), node, source)
    if function.name == "collect" and not arguments:
        arguments = (None,)
    least = function.arity - function.optional_columns
    if not least <= len(arguments) <= function.arity:
        takes = f"{least}" if least == function.arity else f"{least} to {function.arity}"
        source.fail_on(f"{node.name} takes {takes} arguments, got {len(arguments)}", node)
    return _plain(Call(function.name, arguments), node, source)


def _known(node: exp.Expr, function: str, source: Source) -> Call:
    argument = node.this
    extra = [name for name, value in node.args.items() if value and name not in _FLAGS]
    if extra or node.expressions:
        takes = "two arguments" if isinstance(node, (exp.ArgMax, exp.ArgMin)) else "one argument"
        source.fail_on(f"{function} takes {takes} here, got more", node)
    if argument is None:
        source.fail_on(f"{function} takes an argument, got none", node)
    if isinstance(node, (exp.ArgMax, exp.ArgMin)):
        # SQL names the value first and the order second; muntin the order first.
        return _plain(Call(function, (node.expression, argument)), node, source)
    if isinstance(node, (exp.Quantile, exp.ApproxQuantile)):
        return _plain(_quantile(node, function, source), node, source)
    if node.expression is not None:
        source.fail_on(f"{function} takes one argument, got {node.sql('spark')}", node)
    if isinstance(node, exp.CountIf):
        return _plain(Call("count", filter=argument), node, source)
    if isinstance(argument, exp.Distinct):
        return _distinct(argument, function, node, source)
    if function == "count" and (isinstance(argument, exp.Star) or argument.is_number or argument.is_string):
        return Call("count")  # COUNT(1) counts rows, as COUNT(*) does
    return _plain(Call(function, (argument,)), node, source)


def _distinct(argument: exp.Distinct, function: str, node: exp.Expr, source: Source) -> Call:
    if function not in _DISTINCT or len(argument.expressions) != 1:
        source.fail_on(f"{function}(DISTINCT ...) is not offered: only COUNT(DISTINCT x) of one expression", node)
    return _plain(Call(_DISTINCT[function], (argument.expressions[0],)), node, source)


def _quantile(node: exp.Expr, function: str, source: Source) -> Call:
    if isinstance(node.this, exp.Distinct):
        return _distinct(node.this, function, node, source)
    share = node.args.get("quantile")
    # sqlglot takes `. 0.9` for a number too.
    if not isinstance(share, exp.Literal) or share.is_string or share.name.count(".") > 1:
        source.fail_on("expected one number between 0 and 1 for the quantile", node)
    q = float(share.name)
    if isinstance(node, exp.ApproxQuantile):
        return Call(function, (node.this,), (("q", q),))
    if q != 0.5:
        source.fail_on(f"an exact percentile is offered at 0.5 only, got {q}: use percentile_approx(x, {q})", node)
    return Call("median", (node.this,))


def _top_one(node: exp.Window, source: Source) -> Call:
    inner, order = node.this, node.args.get("order")
    if not isinstance(inner, exp.Anonymous) or inner.name.lower() != "topone":
        _fail_ordered(node, inner, order, source)
        source.fail_on(
            "OVER (...) is offered with TopOne() only: analytic functions give a result per event, not per window. "
            "Compute them first, and query the result",
            node,
        )
    if len(inner.expressions) > 1 or order is None or node.args.get("partition_by") or node.args.get("spec"):
        source.fail_on(
            "expected TopOne() OVER (ORDER BY x DESC), or TopOne(y) for one value of the record: one order", node
        )
    falling = {bool(item.args.get("desc")) for item in order.expressions}
    if len(falling) != 1:
        source.fail_on("TopOne cannot order by one expression up and another down: use the same direction", node)
    by = [item.this for item in order.expressions]
    rank = by[0] if len(by) == 1 else exp.Struct(expressions=by)
    value = inner.expressions[0] if inner.expressions else None
    return _plain(Call("arg_max" if falling.pop() else "arg_min", (rank, value)), node, source)


def _fail_ordered(node: exp.Window, inner: exp.Expr, order: exp.Expr | None, source: Source) -> None:
    """Refuse Azure's aggregates that an OVER orders: they are no analytic functions."""
    name = inner.name.lower() if isinstance(inner, exp.Anonymous) else inner.key
    if name == "collecttop":
        source.fail_on(
            "CollectTop is not offered. Write TopOne() OVER (ORDER BY x DESC) for the first record, or Collect() for "
            "all, and take of the result what you need",
            node,
        )
    if name in ("percentilecont", "percentiledisc", "percentile_cont", "percentile_disc"):
        column = order.expressions[0].this.sql("spark") if order is not None else "x"
        share = inner.this.name if isinstance(inner.this, exp.Literal) else "0.95"
        source.fail_on(
            f"an exact percentile is offered at 0.5 only, as MEDIAN({column}). "
            f"Write PERCENTILE_APPROX({column}, {share})",
            node,
        )


def _plain(call: Call, node: exp.Expr, source: Source) -> Call:
    for argument in call.arguments:
        if isinstance(argument, (exp.Star, exp.Order, exp.Distinct)):
            source.fail_on(f"{call.function} takes expressions of the input, got {argument.sql('spark')}", node)
    return call
