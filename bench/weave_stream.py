"""Plans of many queries on Spark streaming: whether the plan that should cost less is the one that takes less."""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Final

import muntin as mt
from bench.chart import Chart, Panel, Series
from bench.measure import machine
from bench.report import Report, Table
from bench.spark_session import configured, session, settings
from bench.streaming_source import WATERMARK, Patience, flat_out, read, write
from muntin import agg
from muntin.share.choose import plan_queries
from muntin.share.workload import Workload
from muntin.stream_plan import StreamPlan
from muntin.window.spec import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bench.measure import Track
    from bench.report import Cell
    from bench.streaming_source import Stream

OPTIMIZERS: Final = ("full", "weave", "none")
LOAD: Final = Workload(queries=8, longest_slide=60, overlap=10)
PATIENCE: Final = Patience(3, 4, 10.0, 240.0)
_MICROS: Final = 1_000_000
# Costs, or times, that are so near each other are not put in order.
_ALIKE: Final = 0.1


@dataclass(frozen=True, slots=True)
class Scale:
    """How many loads of queries, and how many events in how many micro-batches."""

    load: Workload = LOAD
    draws: int = 3
    rounds: int = 2
    events: int = 100_000
    keys: int = 1_000
    batches: int = 10
    stretch: float = 30.0
    patience: Patience = PATIENCE


QUICK: Final = Scale(Workload(queries=3, longest_slide=20, overlap=3), 1, 1, 2_000, 20, 4, patience=Patience(1, 1, 0.0))


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan of a load: its trees, each a stateful operator, and the operations per second that it should cost."""

    draw: int
    optimizer: str
    trees: tuple[tuple[Window, ...], ...]
    cost: float


def run(*, quick: bool, track: Track) -> Report:
    """Run the plans of three loads of eight queries, or of one of three."""
    return measure(QUICK if quick else Scale(), track)


def plans(scale: Scale) -> list[Plan]:
    """Plan every load in every way; of ways with the same trees the first stands for all.

    >>> [(plan.optimizer, len(plan.trees)) for plan in plans(QUICK)]
    [('full', 1), ('none', 3)]
    """
    found: list[Plan] = []
    for draw in range(scale.draws):
        seen: set[frozenset[tuple[Window, ...]]] = set()
        queries = [
            Window(q.range * _MICROS, q.slide * _MICROS, id=q.id, timed=True) for q in scale.load.windows(seed=draw)
        ]
        for optimizer in OPTIMIZERS:
            rate = scale.events / scale.stretch
            told = plan_queries(queries, agg.max, optimizer=optimizer, rate=rate, unit="second")
            trees = tuple(tuple(dict.fromkeys(tree.members)) for tree in told.trees)
            if frozenset(trees) not in seen:
                seen.add(frozenset(trees))
                found.append(Plan(draw, optimizer, trees, told.cost))
    return found


def measure(scale: Scale, track: Track) -> Report:
    """Run every plan, in turn, forth and back."""
    from muntin.spark.streaming import PROVIDER, ROCKSDB

    cores, chosen = machine().cores, plans(scale)
    options = {PROVIDER: ROCKSDB, "spark.sql.shuffle.partitions": str(cores)}
    seconds: dict[tuple[int, str], list[float]] = {}
    with (
        session() as spark,
        configured(spark, options),
        tempfile.TemporaryDirectory(prefix="muntin-bench-", ignore_cleanup_errors=True) as folder,
    ):
        place = Path(folder)
        stream = write(
            place / "in",
            batches=scale.batches,
            events=scale.events,
            keys=scale.keys,
            stretch=scale.stretch,
            cores=cores,
        )
        jobs: list[Callable[[], None]] = []
        for number in range(scale.rounds):
            for plan in chosen[:: -1 if number % 2 else 1]:
                several = seconds.setdefault((plan.draw, plan.optimizer), [])
                jobs.append(partial(_go, spark, stream, plan, place / "checkpoint", scale.patience, several))
        for job in track(jobs, "plans"):
            job()
        told = settings(spark)
    return _report(scale, chosen, {key: statistics.median(found) for key, found in seconds.items()}, told)


def _go(
    spark: SparkSession, stream: Stream, plan: Plan, checkpoint: Path, patience: Patience, several: list[float]
) -> None:
    ran = flat_out([_frame(spark, stream, tree) for tree in plan.trees], stream, checkpoint, patience)
    several += ran.seconds(patience.warm, ran.last)


def _frame(spark: SparkSession, stream: Stream, tree: Sequence[Window]) -> DataFrame:
    events = mt.windows(read(spark, stream), time="ts", keys="device", watermark=WATERMARK)
    plan = events.over(*tree).agg(high=agg.max("v")).plan(strategy="arrow")
    assert isinstance(plan, StreamPlan)
    return plan.stream()


def agreement(pairs: Sequence[tuple[float, float]]) -> tuple[int, int]:
    """Count the pairs of plans whose order by cost is that by time, and all that differ enough in both.

    >>> agreement([(1, 10), (2, 20), (3, 15)])
    (2, 3)
    """
    agreed = compared = 0
    for (cost, time), (other_cost, other_time) in combinations(pairs, 2):
        if min(abs(cost / other_cost - 1), abs(time / other_time - 1)) > _ALIKE:
            compared += 1
            agreed += (cost < other_cost) == (time < other_time)
    return agreed, compared


def _report(
    scale: Scale, chosen: Sequence[Plan], seconds: Mapping[tuple[int, str], float], told: Mapping[str, Cell]
) -> Report:
    rows: list[tuple[Cell, ...]] = []
    agreed = compared = 0
    for draw in range(scale.draws):
        mine = [plan for plan in chosen if plan.draw == draw]
        least_cost = min(plan.cost for plan in mine)
        least_time = min(seconds[draw, plan.optimizer] for plan in mine)
        for plan in mine:
            took = seconds[draw, plan.optimizer]
            rows.append(
                (draw, plan.optimizer, len(plan.trees), plan.cost, plan.cost / least_cost, took, took / least_time)
            )
        right, all_ = agreement([(plan.cost, seconds[draw, plan.optimizer]) for plan in mine])
        agreed, compared = agreed + right, compared + all_
    title = "Plans of many queries on Spark streaming"
    panels = [
        Panel(
            f"Load {draw}",
            tuple(plan.optimizer for plan in chosen if plan.draw == draw),
            (
                Series("cost", tuple(row[4] for row in rows if row[0] == draw)),  # type: ignore[misc]
                Series("time", tuple(row[6] for row in rows if row[0] == draw)),  # type: ignore[misc]
            ),
        )
        for draw in range(scale.draws)
    ]
    return Report(
        "weave_stream",
        title,
        {
            "queries": scale.load.queries,
            "S_max (s)": scale.load.longest_slide,
            "O_max": scale.load.overlap,
            "events of a micro-batch": scale.events,
            "keys": scale.keys,
            "micro-batches not counted": scale.patience.warm,
            "rounds": scale.rounds,
            "aggregate": "max",
            **told,
        },
        (
            Table(
                "Cost and time",
                ("load", "optimizer", "trees", "operations/s", ": least", "s per micro-batch", ": least "),
                tuple(rows),
            ),
        ),
        Table("plans", ("load", "optimizer", "cost", "seconds"), tuple((r[0], r[1], r[3], r[5]) for r in rows)),
        Chart(title, "times that of the best plan", tuple(panels), log=True),
        (
            f"Of {compared} pairs of plans of one load that differ by more than {_ALIKE:.0%} in cost and in time, "
            f"{agreed} are in the same order by both. A tree is a stateful operator of its own, in a query of its own; "
            "the trees of a plan run side by side over the same micro-batches. Plans with the same trees are run once.",
        ),
    )
