"""First, last, argument of the extreme, and lists: results that depend on the order of events.

Events are in order of time; those of one time are in order of value, so that every run gives the same result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from muntin.spark.recipes.coding import coding, crosses, room
from muntin.spark.recipes.part import Input, Lane, Part, Recipe

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from pyspark.sql import Column

    Ordered: TypeAlias = Callable[[list[Input], Column, Column | None], Recipe]


def end(*, last: bool) -> Ordered:
    """Make the recipe of `first` or `last`: the value at the least or greatest time, null too."""

    def recipe(inputs: list[Input], micros: Column, kept: Column | None) -> Recipe:
        value = inputs[0]
        pick = F.max if last else F.min
        event = F.struct(micros.alias("t"), value.column.alias("v"))
        event = event if kept is None else F.when(kept, event)
        name = f"{'last' if last else 'first'}({value.token})"
        fields = {"t": lambda c: c["t"], "v": lambda c: c["v"]}
        best, lane = pick(event), _by_row("arg_max" if last else "arg_min", "int64", fields, value)
        part = Part(name, lambda: best, pick, lane, lambda: event, sorts=True)
        return Recipe(best["v"], (part,), lambda parts: parts[name]["v"])

    return recipe


def argument(*, largest: bool) -> Ordered:
    """Make the recipe of `arg_max` or `arg_min`: what stands beside the extreme; of several, beside the earliest."""

    def recipe(inputs: list[Input], micros: Column, kept: Column | None) -> Recipe:
        by, value = inputs
        pick = F.max if largest else F.min
        early = -micros if largest else micros
        event = F.struct(by.column.alias("by"), early.alias("t"), value.column.alias("v"))
        there = by.column.isNotNull() if kept is None else kept & by.column.isNotNull()
        name = f"{'arg_max' if largest else 'arg_min'}({by.token}, {value.token})"
        single = F.when(there, event)
        best = pick(single)
        code = coding(by.type)
        lane = None
        if code is not None:
            fields = {"by": lambda c: code.encode(c["by"]), "v": lambda c: c["v"]}
            lane = _by_row("arg_max" if largest else "arg_min", code.dtype, fields, value, {"t": lambda c: c["t"]})
        part = Part(name, lambda: best, pick, lane, lambda: single, sorts=True)
        return Recipe(best["v"], (part,), lambda parts: parts[name]["v"])

    return recipe


def _by_row(
    operator: str,
    dtype: str,
    fields: dict[str, Callable[[Column], Column]],
    value: Input,
    ties: dict[str, Callable[[Column], Column]] | None = None,
) -> Lane | None:
    """Let the kernel choose a row: what stands in it may be of any type that Arrow has."""
    if not crosses(value.type):
        return None
    back = {"v": value.type}
    rebuild = lambda columns: F.struct(columns["v"].alias("v"))  # noqa: E731
    return Lane(operator, (dtype, "int64"), "row", fields, back, rebuild, ties or {})


def collect(inputs: list[Input], micros: Column, kept: Column | None) -> Recipe:
    """List the values that are not null, in order of time."""
    return _listed(inputs[0], micros, "collect", lambda values: values)


def concat(inputs: list[Input], micros: Column, kept: Column | None) -> Recipe:
    """Join strings in order of time; null where there are none."""
    return _listed(
        inputs[0],
        micros,
        "collect",
        lambda values: F.when(F.size(values) > 0, F.array_join(values, "")),
    )


def _listed(value: Input, micros: Column, name: str, show: Callable[[Column], Column]) -> Recipe:
    event = F.when(value.column.isNotNull(), F.struct(micros.alias("t"), value.column.alias("v")))
    events = F.collect_list(event)

    def finish(events: Column) -> Column:
        return show(F.transform(F.array_sort(events), lambda event: event["v"]))

    merge = lambda partial: F.flatten(F.collect_list(partial))  # noqa: E731
    part = Part(f"{name}({value.token})", lambda: events, merge, heavy=True, holds=room(value.type))
    return Recipe(finish(events), (part,), lambda parts: finish(parts[part.name]))


def collect_distinct(inputs: list[Input]) -> Recipe:
    """List the different values, sorted."""
    value = inputs[0]
    part = Part(
        f"distinct({value.token})",
        lambda: F.collect_set(value.column),
        lambda partial: F.array_distinct(F.flatten(F.collect_list(partial))),
        heavy=True,
        holds=room(value.type),
    )
    return Recipe(F.array_sort(part.make()), (part,), lambda parts: F.array_sort(parts[part.name]))
