"""Experiments 1 to 5 of the multi-query paper: what plans cost, as one parameter of the query load grows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from bench.chart import Panel, Series
from bench.report import Table, shown
from muntin.share.candidates import offers
from muntin.share.queries import query_set
from muntin.share.technique import TECHNIQUES
from muntin.share.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bench.report import Cell
    from muntin.share.technique import Estimate

TABLED: Final = tuple(name for name, technique in TECHNIQUES.items() if technique.in_table)
SLICK: Final = ("SlickDeque-Inv", "SlickDeque-NonInv")
OPTIMIZERS: Final = ("weave", "triweave")
NAMES: Final = {"weave": "WeaveShare", "triweave": "TriWeave"}
MIDDLE: Final = Workload()
# The average number of trees in a plan, over all of the paper's runs; SlickDeque's two are one.
PAPER_TREES: Final = {"Panes": 16.0, "FlatFAT": 15.7, "FlatFIT": 10.3, "SlickDeque": 4.8}
PAPER_APART: Final = 0.05


@dataclass(frozen=True, slots=True)
class Experiment:
    """A row of Table 4: the parameter that grows, where it is read off, and how far SlickDeque is said to be ahead."""

    number: int
    parameter: str
    symbol: str
    values: tuple[float, ...]
    paper: int

    def load(self, value: float) -> Workload:
        """Give the query load of one reading."""
        changed: Any = value if self.parameter in ("rate", "skew") else int(value)
        return replace(MIDDLE, **{self.parameter: changed})


EXPERIMENTS: Final = (
    Experiment(1, "queries", "Q_num", (1, 10, 100, 1_000, 10_000), 5_000),
    Experiment(2, "longest_slide", "S_max", (10, 100, 1_000, 10_000, 100_000), 4_300),
    Experiment(3, "overlap", "O_max", (100, 1_000, 10_000, 100_000, 1_000_000), 270_000),
    Experiment(4, "rate", "λ", (0.01, 0.1, 1, 10, 100), 3_000),
    Experiment(5, "skew", "Z_skew", (-1, -0.5, 0, 0.5, 1), 4_200),
)


@dataclass(frozen=True, slots=True)
class Reading:
    """The plan of one drawn query load: its cost in operations per unit of time, and its trees."""

    experiment: int
    value: float
    run: int
    estimate: Estimate
    optimizer: str
    technique: str
    cost: float
    trees: int


def jobs(runs: int) -> list[Callable[[], list[Reading]]]:
    """List the loads to plan: for each value of each experiment, so many draws."""
    return [
        lambda e=experiment, v=value, run=run: _planned(e, v, run)  # type: ignore[misc]
        for experiment in EXPERIMENTS
        for value in experiment.values
        for run in range(runs)
    ]


def _planned(experiment: Experiment, value: float, run: int) -> list[Reading]:
    load = experiment.load(value)
    found = query_set(load.windows(seed=run))
    estimates: tuple[Estimate, ...] = ("paper", "due")
    return [
        Reading(experiment.number, value, run, estimate, offer.optimizer, name, offer.cost, offer.trees or 0)
        for estimate in estimates
        for name in TABLED
        for offer in offers(found, TECHNIQUES[name], estimate, float(load.rate), OPTIMIZERS)
    ]


def label(value: float) -> str:
    """Write a parameter's value.

    >>> label(1_000_000), label(0.01), label(-0.5)
    ('1,000,000', '0.01', '-0.5')
    """
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


def mean(readings: Iterable[float]) -> float:
    """Average readings, as the paper does.

    >>> mean([1, 2, 6])
    3.0
    """
    found = list(readings)
    return sum(found) / len(found)


def costs(readings: Sequence[Reading], estimate: str = "paper") -> dict[tuple[int, float, str, str], float]:
    """Average the costs of each experiment, value, optimizer and technique."""
    grouped: dict[tuple[int, float, str, str], list[float]] = {}
    for r in readings:
        if r.estimate == estimate:
            grouped.setdefault((r.experiment, r.value, r.optimizer, r.technique), []).append(r.cost)
    return {key: mean(values) for key, values in grouped.items()}


def ratio(found: dict[tuple[int, float, str, str], float], experiment: Experiment, optimizer: str) -> float:
    """Find how many times the cost with the better SlickDeque goes into that with Panes, at most."""
    return max(
        found[experiment.number, value, optimizer, "Panes"]
        / min(found[experiment.number, value, optimizer, name] for name in SLICK)
        for value in experiment.values
    )


def tables(readings: Sequence[Reading]) -> tuple[Table, ...]:
    """Tell the headline ratios, the number of trees, how far the optimizers are apart, and the costs."""
    found, due = costs(readings), costs(readings, "due")
    headline = Table(
        "SlickDeque over Panes: how many times cheaper, at most",
        ("experiment", "paper", "WeaveShare", "TriWeave", "WeaveShare, due", "TriWeave, due"),
        tuple(
            (
                f"{e.number}: {e.symbol}",
                f"{e.paper:,}",
                *(f"{ratio(table, e, optimizer):,.0f}" for table in (found, due) for optimizer in OPTIMIZERS),
            )
            for e in EXPERIMENTS
        ),
    )
    return headline, _tree_table(readings), *(_costs(found, e) for e in EXPERIMENTS)


def average_trees(readings: Sequence[Reading], technique: str, estimate: str = "paper") -> float:
    """Average the trees of all plans with a technique, SlickDeque's two together."""
    names = SLICK if technique == "SlickDeque" else (technique,)
    return mean(r.trees for r in readings if r.technique in names and r.estimate == estimate)


def _tree_table(readings: Sequence[Reading]) -> Table:
    rows = tuple(
        (name, paper, average_trees(readings, name), average_trees(readings, name, "due"))
        for name, paper in PAPER_TREES.items()
    )
    return Table("Trees in a plan, average of all runs", ("technique", "paper", "Table 3", "due"), rows)


def _costs(found: dict[tuple[int, float, str, str], float], experiment: Experiment) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            f"{label(value)} {NAMES[optimizer]}",
            *(found[experiment.number, value, optimizer, name] for name in TABLED),
        )
        for value in experiment.values
        for optimizer in OPTIMIZERS
    )
    return Table(f"Experiment {experiment.number}: plan cost against {experiment.symbol}", ("", *TABLED), rows)


def apart(readings: Sequence[Reading]) -> tuple[float, float]:
    """Find by how much the costs of the two optimizers' plans differ, of the smaller: on average, and at most."""
    found = costs(readings)
    pairs = [(found[e, v, "weave", t], found[e, v, "triweave", t]) for e, v, o, t in found if o == "weave"]
    differences = [max(pair) / min(pair) - 1 for pair in pairs]
    return mean(differences), max(differences)


def panels(readings: Sequence[Reading]) -> tuple[Panel, ...]:
    """Draw Figures 17 to 21, in thousands: WeaveShare on the left, TriWeave on the right."""
    found = costs(readings)
    return tuple(
        Panel(
            f"Exp. {e.number}: {e.symbol}, {NAMES[optimizer]}",
            tuple(label(value) for value in e.values),
            tuple(Series(name, tuple(found[e.number, v, optimizer, name] / 1e3 for v in e.values)) for name in TABLED),
            lines=True,
        )
        for e in EXPERIMENTS
        for optimizer in OPTIMIZERS
    )


def notes(readings: Sequence[Reading], runs: int) -> tuple[str, ...]:
    """Say what was done, and why figures differ from the paper's."""
    found = costs(readings)
    average, most = apart(readings)
    first = [(value, optimizer) for value in EXPERIMENTS[0].values for optimizer in OPTIMIZERS]
    high = max(found[1, v, o, "FlatFIT"] / min(found[1, v, o, n] for n in SLICK) for v, o in first)
    return (
        f"Experiments 1 to 5: {runs} draws of each load, plans by greedy merging, costs averaged. 'Table 3' prices "
        "final aggregation as the paper does, every query asked at every edge; 'due' asks a query when it is due.",
        f"FlatFIT over SlickDeque in experiment 1: {shown(high)} times the cost at most (paper: 3).",
        "The ratio over Panes is the mean overlap, about O_max/2, where final aggregation is all there is to pay: half "
        "of 10,000, and half of 1,000,000 in experiment 3, less what partial aggregation adds to both.",
        "Panes' number of trees is that of the distinct slides drawn, 16 divisors for S_max 1,000: it gains nothing by "
        "merging different ones. The paper does not say which runs it averages; ours are those of experiments 1 to 5 "
        "at the values listed, those of one and of ten queries included.",
        f"WeaveShare's and TriWeave's costs differ by {100 * average:.1f} % on average and {100 * most:.0f} % at most "
        f"(paper: within {100 * PAPER_APART:.0f} %). They are the same where every unit of time has one event and one "
        "slide is 1: a tree then takes as many ready partials as it would take events. With more events than edges, "
        "the upper end of experiment 4, TriWeave spares the trees most of them; with fewer, it passes partials on that "
        "hold no event. The paper does not write its formula for TriWeave out.",
    )
