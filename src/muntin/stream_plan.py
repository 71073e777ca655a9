"""A planned query over a stream: one stateful operator for all windows, or Spark's own where it cannot be."""

from __future__ import annotations

import logging
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, get_args

from muntin.errors import QueryError
from muntin.physical.streaming import SHARED, assemblies, native_weight, slice_rate
from muntin.planned import Plan
from muntin.stream.layout import Mode
from muntin.stream.version import VERSION
from muntin.window.slices import common_measure

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from muntin.api import LogicalPlan
    from muntin.physical.choose import Strategy
    from muntin.physical.streaming import Assembly
    from muntin.query import Query
    from muntin.spark.bound import Bound
    from muntin.spark.streaming import Streaming


_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, repr=False)
class StreamPlan(Plan):
    """A planned query over a stream: `stream()` gives its rows as they come, `explain()` says how and why."""

    assembled: tuple[Assembly, ...]
    refusal: str
    """Why Spark's own operators must run instead, one for each window; empty where one operator can serve all."""

    strategy: Strategy = "auto"

    def stream(self, *, mode: Mode = "append", buckets: int | None = None) -> DataFrame:
        """Build the streaming DataFrame: write it to any sink with `writeStream`.

        `mode` "append" gives each window once, when the watermark has passed its end; "update" gives, after each
        micro-batch, the windows that it changed; "latest" gives one row for a key with the last complete window of
        each kind side by side, whenever that row changed. `buckets` is into how many parts the keys are dealt out:
        a power of two, by default the next after spark.sql.shuffle.partitions. A checkpoint keeps its number.
        """
        from muntin.spark.bound import watermark_of
        from muntin.spark.execute import shown
        from muntin.spark.native import native
        from muntin.spark.spread import spread_stream
        from muntin.spark.streaming import check_buckets, check_watermark

        if buckets is not None:
            check_buckets(buckets)
        if mode not in get_args(Mode):
            msg = f"unknown mode {mode!r}: choose one of {', '.join(get_args(Mode))}"
            raise QueryError(msg)
        why = self.native_why(mode)
        if why:
            if mode == "latest":
                msg = f"mode='latest' needs the shared plan, and this query runs by Spark's own aggregates: {why}"
                raise QueryError(msg)
            check_watermark(self.bound)
            _LOG.info("%s: %s", self._operators(), why)
            if not self.spread:
                return shown(self.query, native(self.bound))
            delay = watermark_of(self.bound.events, self.query.time)
            assert delay is not None
            return shown(self.query, spread_stream(self.bound, delay))
        from muntin.spark.streaming import stream
        from muntin.spark.wide import selected

        result = stream(self._work(mode, buckets))
        return selected(self.query, result) if mode == "latest" else shown(self.query, result)

    @property
    def spread(self) -> bool:
        """Whether Spark's own aggregate, where it runs, is one operator for all windows and not one for each."""
        several = len(self.query.windows) > 1 or self.strategy == "spread"
        return several and self.strategy != "native" and not self.bound.custom

    def operators(self, mode: Mode = "append") -> int:
        """Count the stateful operators, each of which reads the source."""
        return len(self.query.windows) if self.native_why(mode) and not self.spread else 1

    def native_why(self, mode: Mode = "append") -> str:
        """Say why Spark's own aggregates run; nothing where muntin's operator does.

        They are taken where they must, where asked for, and where they are expected to cost less: by weight, a single
        window that hardly overlaps itself. Rows of the other modes do not leave Spark's operators as appended rows, so
        that these are never taken for the cost alone.
        """
        if self.refusal:
            return self.refusal
        if self.strategy in ("native", "spread"):
            return f"strategy={self.strategy!r} was asked for"
        weight = native_weight(self.query.windows)
        if self.strategy == "auto" and mode == "append" and weight < SHARED and not self.bound.custom:
            return f"expected to cost {weight:.3g}, and the shared operator {SHARED:g} (in windows of Spark's own)"
        return ""

    def run(self, *, split: bool = False, wide: bool = False) -> Any:
        """Refuse: a stream has no end."""
        msg = "the events are a stream, which run() cannot wait for: use stream(), and start it with writeStream"
        raise QueryError(msg)

    def explain(self) -> str:
        """Say how the query runs: slices, how each window is put together, and what was weighed."""
        return "\n".join(self._lines())

    def to_dict(self) -> dict[str, Any]:
        """Give the plan as values that JSON can hold."""
        return self.logical.to_dict() | {
            "stream": {
                "refusal": self.refusal,
                "native": self.native_why(),
                "operators": self.operators(),
                "pane_us": common_measure(self.query.windows),
                "slices_per_second": float(slice_rate(self.query.windows) * 1_000_000),
                "windows": [
                    {
                        "window": each.window.id,
                        "slices": each.slices,
                        "by_slices": each.by_slices,
                        "by_tree": each.by_tree,
                        "tree": each.tree,
                    }
                    for each in self.assembled
                ],
            }
        }

    def __repr__(self) -> str:
        how = "by one stateful operator"
        if self.native_why():
            how = "by one operator of Spark's own" if self.spread else "natively"
        return f"<stream plan {how}: {len(self.query.windows)} windows, {len(self.query.aggregates)} aggregates>"

    def _work(self, mode: Mode, buckets: int | None) -> Streaming:
        from muntin.spark.streaming import lay_out
        from muntin.stream.labels import buckets_for

        if buckets is None:
            partitions = self.bound.events.sparkSession.conf.get("spark.sql.shuffle.partitions", "200")
            buckets = buckets_for(int(partitions or 200))
        trees = [number for number, each in enumerate(self.assembled) if each.tree]
        width = common_measure(self.query.windows)
        pane = (width, self.query.windows[0].offset % width)
        _LOG.info("one stateful operator for %d windows, mode %s: %d buckets, panes of %s, state of version %d, %s",
                  len(self.query.windows), mode, buckets, self.query.windows[0].text(width), VERSION,
                  f"trees over slices for {len(trees)} windows" if trees else "slice by slice")  # fmt: skip
        return lay_out(self.bound, trees, pane, mode, buckets)

    def _operators(self) -> str:
        """Say how Spark's own aggregates run."""
        number = len(self.query.windows)
        if self.spread:
            return "one stateful operator of Spark's own for all windows: each event is copied to those that hold it"
        count = "one stateful operator" if number == 1 else f"{number} stateful operators"
        return f"natively: {count}, one for each window"

    def _lines(self) -> list[str]:
        windows = self.query.windows
        why = self.native_why()
        if why:
            told = textwrap.wrap(why, 96, initial_indent="why: ", subsequent_indent="     ")
            return [self._operators(), *told]
        rate, pane = slice_rate(windows), common_measure(windows)
        lines = [
            "events -> partials of slices, in each task -> one shuffle by key -> one stateful operator -> windows",
            f"slices: {float(rate * 3_600_000_000):,.6g} an hour, on panes of {windows[0].text(pane)}",
            f"natively: {len(windows)} operators, each with a state and a reading of the source of its own",
            "",
            f"{'window':<24}{'slices':>8}{'slice by slice':>16}{'by tree':>9}  a slide reads and writes, blobs",
        ]
        for each in self.assembled:
            way = "from a tree over slices" if each.tree else "slice by slice"
            lines.append(
                f"{each.window.id:<24}{each.slices:>8,.0f}{each.by_slices:>16,.0f}{each.by_tree:>9,.0f}  {way}"
            )
        return lines


def plan_stream(
    query: Query, bound: Bound, search: Callable[[], LogicalPlan], strategy: Strategy = "auto"
) -> StreamPlan:
    """Plan a query over a stream."""
    if strategy == "jvm":
        msg = "strategy='jvm' is a tree of windows over a table: a stream takes 'arrow', 'spread', 'native' or 'auto'"
        raise QueryError(msg)
    if strategy == "spread" and bound.custom:
        msg = f"strategy='spread' has no functions of your own, as {', '.join(map(repr, bound.custom))}: take 'auto'"
        raise QueryError(msg)
    _refuse_distinct(query)
    refusal = refusal_of(bound)
    if strategy == "arrow" and refusal:
        msg = f"strategy='arrow' cannot serve this query: {refusal}. Take 'auto' or 'native'"
        raise QueryError(msg)
    return StreamPlan(query, bound, search, assemblies(query.windows), refusal, strategy)


def _refuse_distinct(query: Query) -> None:
    """Refuse here what Spark's own operators refuse too, but only when the stream is started."""
    for name, aggregate in query.aggregates:
        if aggregate.function.name == "count_distinct":
            msg = (
                f"`{name}` is an exact distinct count, which Spark does not have over a stream. Take "
                "agg.approx_distinct for the number, or agg.collect_distinct for the values"
            )
            raise QueryError(msg)


def refusal_of(bound: Bound) -> str:
    """Say why one operator cannot serve all windows of a query; nothing where it can."""
    for name, aggregate in bound.query.aggregates:
        recipe, what = bound.recipes.get(name), f"`{name}` ({aggregate.function.name})"
        if recipe is None:
            if not aggregate.function.shareable:
                return f"{what} has no partials to combine"
            continue
        if not recipe.streams:
            return f"{what} has partials that only Spark's own operators can make of events"
    if not bound.crosses:
        return "the keys are of a type that Arrow cannot take and give back as it was"
    return ""
