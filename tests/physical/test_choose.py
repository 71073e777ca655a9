from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import muntin as mt
from muntin import agg, hopping, tumbling
from muntin.errors import QueryError
from muntin.physical.choose import choose
from muntin.physical.constants import Constants, load_constants, save_constants
from muntin.physical.cost import Prices
from muntin.physical.grouping import pane_groups
from muntin.physical.statistics import Statistics
from muntin.physical.ways import Group, coarse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from muntin import Window
    from muntin.logical.forest import Forest
    from muntin.physical.choose import Strategy
    from muntin.physical.plan import PhysicalPlan

HOUR = 3_600_000_000
BIG = Statistics(rows=1e7, keys=1, span=10_000_000 * 1_000_000)
TINY = Statistics(rows=100, keys=3, span=HOUR)
CONSTANTS = Constants()
TEN = tuple(tumbling(f"{10 * i}s") for i in range(2, 12))
NUMBERS = Group(("low",), 1, shareable=True, columnar=True, custom=False)
STRINGS = Group(("word",), 1, shareable=True, columnar=False, custom=False)
MEDIAN = Group(("mid",), 1, shareable=False, columnar=False, custom=False, why="all values at once")
DISTINCT = Group(("users",), 1, shareable=False, columnar=False, custom=False, why="all values at once", distinct=1)
MINE = Group(("mine",), 1, shareable=False, columnar=True, custom=True)


def plan(
    windows: Sequence[Window],
    groups: Sequence[Group],
    strategy: Strategy = "auto",
    statistics: Statistics = BIG,
    constants: Constants = CONSTANTS,
) -> PhysicalPlan:
    rate = max(statistics.rate * 1e3, 1e-12)
    forest = mt.optimize(windows, agg.min, rate=rate, unit="millisecond", period="steady").groups[0].forest
    return choose(windows, groups, lambda group: forest, strategy, statistics, constants)


def test_many_windows_over_many_events_go_through_kernels() -> None:
    found = plan(TEN, [NUMBERS])
    assert [step.way for step in found.steps] == ["arrow"]
    assert found.steps[0].pane == (10_000_000, 0)
    assert found.seconds < found.native_seconds / 2


def test_what_is_not_expected_to_be_faster_is_native() -> None:
    dear = replace(CONSTANTS, group=CONSTANTS.group_struct, enter=50.0, leave=50.0, python=1e6, copy=50.0)
    found = plan([tumbling("1h")], [NUMBERS], statistics=TINY, constants=dear)
    assert [step.way for step in found.steps] == ["native"]
    assert found.seconds == pytest.approx(found.native_seconds)


def test_types_without_exact_numbers_stay_in_the_jvm() -> None:
    found = plan(TEN, [STRINGS])
    assert [step.way for step in found.steps] == ["spread"]
    assert found.steps[0].pane == (10_000_000, 0)
    arrow = next(c for c in found.candidates if c.name == "arrow")
    assert arrow.note and not arrow.chosen


def test_holistic_reads_the_events_for_each_window_and_says_why() -> None:
    windows = (*TEN, hopping("1h", slide="10s"))
    found = plan(windows, [NUMBERS, MEDIAN])
    ways = {step.aggregates: step for step in found.steps}
    assert (ways[("mid",)].way, ways[("mid",)].pane) == ("spread", None)
    assert ways[("low",)].way == "arrow"
    refused = {c.name: c.note for c in found.candidates if c.aggregates == ("mid",) and c.seconds == float("inf")}
    assert refused == dict.fromkeys(("jvm", "arrow"), MEDIAN.why)
    assert ways[("mid",)].reason.startswith(MEDIAN.why)
    by_hand = plan([tumbling("1h")], [MEDIAN], statistics=TINY)
    assert [(step.way, step.reason) for step in by_hand.steps] == [("native", MEDIAN.why)]


def test_few_events_in_many_windows_are_spread() -> None:
    """One scan and one exchange, where native has one of each for every window."""
    for groups in ([NUMBERS], [STRINGS], [MEDIAN], [NUMBERS, STRINGS, MEDIAN]):
        found = plan(TEN, groups, statistics=TINY)
        assert [(step.way, step.pane) for step in found.steps] == [("spread", None)]
        assert set(found.steps[0].aggregates) == {name for group in groups for name in group.names}
        assert found.seconds < found.native_seconds / 5
    assert [step.way for step in plan([tumbling("1h")], [NUMBERS], statistics=TINY).steps] == ["native"]


@given(
    shapes=st.lists(st.tuples(st.integers(1, 20), st.integers(1, 6), st.integers(0, 3)), min_size=1, max_size=8),
    optimizer=st.sampled_from(["none", "mincost", "factor", "auto"]),
    rows=st.sampled_from([1e2, 1e5, 1e7]),
    heavy=st.integers(0, 1),
)
@settings(max_examples=60, deadline=None)
def test_no_tree_is_cheaper_than_what_a_tree_takes_at_least(
    shapes: list[tuple[int, int, int]], optimizer: Any, rows: float, heavy: int
) -> None:
    # Some are there twice, under two ids.
    windows = [
        hopping(f"{slide * times}s", slide=f"{slide}s", offset=f"{offset}s", id=f"w{place}")
        for place, (slide, times, offset) in enumerate(shapes)
    ]
    forest = mt.optimize(windows, agg.min, optimizer=optimizer, period="steady").groups[0].forest
    prices = Prices(Statistics(rows=rows, keys=10, span=HOUR), CONSTANTS, heavy=heavy)
    assert prices.least_tree(windows) <= prices.tree(forest).seconds * (1 + 1e-9)


def test_values_of_all_windows_are_not_held_at_once_where_they_are_many() -> None:
    lists, some = replace(MEDIAN, holds=1), replace(BIG, rows=5e5)
    assert [step.way for step in plan(TEN, [lists], statistics=some).steps] == ["spread"]
    many = plan(TEN, [lists])
    assert [step.way for step in many.steps] == ["native"]
    assert next(c for c in many.candidates if c.name == "spread").note.startswith("the values of all windows")
    assert [step.way for step in plan(TEN, [lists], "spread").steps] == ["spread"]
    assert [step.way for step in plan(TEN, [lists], "arrow").steps] == ["native"]
    # By panes they may be, where they have partials; and beside them all others, each by its own way.
    shared = replace(lists, shareable=True, names=("all_of",), heavy=1)
    assert [(s.way, s.pane) for s in plan(TEN, [shared]).steps] != [("spread", None)]
    # Not where partials are lists, which hold as much in all panes together.
    for grows in (False, True):
        known = plan(TEN, [replace(shared, heavy=0, grows=grows)], "spread").steps
        assert [s.pane is None for s in known] == [grows]
    # Texts take more room, and two lists as much again.
    for room, way in ((8, "spread"), (16, "native")):
        found = plan(TEN, [replace(lists, holds=room)], statistics=replace(BIG, rows=9e4))
        assert [step.way for step in found.steps] == [way]


def test_what_is_sorted_is_dearer_by_the_copy() -> None:
    words = replace(STRINGS, sorts=True)
    prices = [Prices(BIG, CONSTANTS, sorts=sorts) for sorts in (False, True)]
    for price in ("native", "spread"):
        cheap, dear = (getattr(each, price)(TEN).seconds for each in prices)
        # Ten windows: ten copies of each of ten million events, on two cores.
        assert dear - cheap > 10 * 1e7 * 0.4e-6 / 2
    assert plan(TEN, [words]).steps[0].pane == (10_000_000, 0)


def test_rows_that_are_partials_are_merged_by_hand_too() -> None:
    hops = [hopping("1h", "10m"), hopping("2h", "20m")]
    few = Statistics(rows=1e6, keys=1e3, span=1_000_000_000_000)
    for price in ("native", "spread"):
        plain, folded = (getattr(Prices(few, CONSTANTS, folds=folds), price)(hops).seconds for folds in (0, 1))
        assert folded - plain == pytest.approx(12 * 1e6 * CONSTANTS.fold * 1e-6 / CONSTANTS.cores)


def test_all_that_is_spread_by_name_is_one_step() -> None:
    found = plan(TEN, [NUMBERS, STRINGS, MEDIAN], "spread", TINY)
    assert [(step.way, sorted(step.aggregates)) for step in found.steps] == [("spread", ["low", "mid", "word"])]
    both = plan(TEN, [NUMBERS, MINE], "spread")
    assert {step.aggregates: step.way for step in both.steps} == {("low",): "spread", ("mine",): "python"}


def test_no_tree_is_looked_for_where_none_can_be_the_cheapest() -> None:
    def unasked(group: Group) -> Forest:
        pytest.fail(f"a forest was looked for: {group}")

    for statistics, windows in ((TINY, TEN), (BIG, TEN), (TINY, [tumbling("1h")])):
        found = choose(windows, [NUMBERS], unasked, "auto", statistics, CONSTANTS)
        tree = next(c for c in found.candidates if c.name == "jvm")
        assert tree.note and not tree.chosen
        assert tree.seconds > found.seconds


def test_distinct_counts_of_many_hopping_windows_go_by_first_appearances() -> None:
    windows = [hopping(f"{n}h", slide="10m") for n in (1, 2, 3, 6, 12)]
    for items in (None, 1e3, 1e7):
        found = plan(windows, [DISTINCT], statistics=replace(BIG, items=items))
        assert [step.way for step in found.steps] == ["distinct"], items
        assert found.steps[0].pane == (HOUR // 6, 0)
        assert found.seconds < found.native_seconds / 2
    both = plan(windows, [DISTINCT, MEDIAN, NUMBERS])
    assert {step.aggregates: step.way for step in both.steps} == {
        ("users",): "distinct",
        ("mid",): "spread",
        ("low",): "spread",
    }


def test_distinct_counts_of_one_tumbling_window_read_the_events() -> None:
    for items in (None, 1e3, 1e7):
        found = plan([tumbling("1h")], [DISTINCT], statistics=replace(BIG, items=items))
        assert [step.way for step in found.steps] == ["native"]
    assert [step.way for step in plan([tumbling("1h")], [DISTINCT], "jvm").steps] == ["distinct"]
    assert [step.way for step in plan([tumbling("1h")], [DISTINCT], "native").steps] == ["native"]


def test_panes_finer_than_the_events_do_not_pay_for_distinct_counts() -> None:
    # A thousand values: few in a window, but every event is alone in a pane of a millisecond.
    windows = (tumbling("10m"), tumbling("7001ms"))
    found = plan(windows, [DISTINCT], statistics=replace(BIG, items=1e3))
    assert [step.way for step in found.steps] == ["native"]


def test_natives_are_one_step() -> None:
    found = plan([tumbling("1h")], [NUMBERS, MEDIAN], strategy="native")
    assert len(found.steps) == 1
    assert set(found.steps[0].aggregates) == {"low", "mid"}


def test_a_join_is_not_worth_it_for_few_events() -> None:
    found = plan([tumbling("1h")], [NUMBERS, MEDIAN], statistics=TINY)
    assert [step.way for step in found.steps] == ["native"]
    assert set(found.steps[0].aggregates) == {"low", "mid"}


def test_custom_stays_in_spark_where_keys_cannot_cross() -> None:
    found = plan(TEN, [replace(MINE, columnar=False)])
    assert [step.way for step in found.steps] == ["native"]
    assert "Arrow" in next(c.note for c in found.candidates if c.name == "python")


def test_what_native_takes_counts_functions_written_in_python() -> None:
    both = plan(TEN, [NUMBERS, MINE])
    alone = [plan(TEN, [group]).native_seconds for group in (NUMBERS, MINE)]
    # In one group by: the events are read once for each window, and not twice.
    once = Prices(BIG, CONSTANTS).again(TEN).seconds
    assert both.native_seconds == pytest.approx(sum(alone) - once)
    priced = next(c.seconds for c in plan(TEN, [MINE]).candidates if c.name == "native")
    assert alone[1] == priced


def test_what_was_not_looked_at_is_spread_or_left_native() -> None:
    unseen = replace(BIG, keys=BIG.rows, seen=False)
    assert [step.way for step in plan(TEN, [NUMBERS], statistics=unseen).steps] == ["spread"]
    assert [step.way for step in plan([tumbling("1h")], [NUMBERS], statistics=unseen).steps] == ["native"]
    assert [step.way for step in plan(TEN, [NUMBERS], "arrow", unseen).steps] == ["arrow"]
    assert "perhaps" in repr(unseen)


def test_custom_goes_to_python() -> None:
    assert [step.way for step in plan(TEN, [MINE]).steps] == ["python"]


@pytest.mark.parametrize("strategy", ["native", "spread", "jvm", "arrow"])
def test_a_strategy_by_name(strategy: Strategy) -> None:
    assert {step.way for step in plan(TEN, [NUMBERS], strategy).steps} == {strategy}
    assert {step.way for step in plan(TEN, [STRINGS], strategy).steps} == {"jvm" if strategy == "arrow" else strategy}


def test_every_window_is_computed_once_whatever_the_grouping() -> None:
    lengths = [tumbling("4s"), tumbling("6s"), tumbling("35s"), tumbling("55s"), tumbling("4s", id="again")]
    windows = (*lengths, hopping("1h", slide="7s"))
    for direct in (False, True):
        groups = pane_groups(windows, Prices(BIG, CONSTANTS), direct=direct)
        assert sorted(w.id for group in groups for w in group) == sorted(w.id for w in windows)


def test_groups_that_are_not_weighed_would_not_have_been_cheaper(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(7)
    cut = 0
    for _ in range(150):
        windows = [tumbling(f"{draw.randint(1, 100)}s") for _ in range(draw.randint(2, 8))]
        windows += [
            hopping(f"{slide * draw.randint(2, 5)}s", slide=f"{slide}s") for slide in draw.sample(range(1, 30), 2)
        ]
        events = Statistics(10 ** draw.uniform(3, 8), draw.choice((1, 500)), int(10 ** draw.uniform(8, 14)))
        packs, lists = draw.random() < 0.5, draw.random() < 0.5
        prices = Prices(events, CONSTANTS, draw.randint(1, 5), packable=packs, listable=lists)
        for direct in (False, True):

            def cost(groups: Sequence[tuple[Window, ...]], direct: bool = direct, prices: Prices = prices) -> float:
                ways = [prices.sweep, prices.direct] if direct else [prices.sweep]
                return sum(min(way(group).seconds for way in ways) for group in groups)

            found = cost(pane_groups(windows, prices, direct=direct))
            with monkeypatch.context() as every_pair:
                every_pair.setattr(Prices, "least_parted", lambda *_, **__: -math.inf)
                assert found == pytest.approx(cost(pane_groups(windows, prices, direct=direct)), rel=1e-9)
            cut += cost([tuple(windows)]) <= prices.least_parted(windows, direct=direct)
    assert 50 < cut < 300


def test_windows_that_share_no_pane_part_ways() -> None:
    # Panes of a millisecond would be finer than the events.
    windows = (tumbling("10m"), tumbling("7001ms"))
    prices = Prices(BIG, CONSTANTS)
    assert prices.direct(windows).seconds < prices.sweep(windows).seconds
    assert [(step.way, step.pane) for step in plan(windows, [NUMBERS]).steps] == [("spread", None)]
    # Where a copy of an event costs more than to read it again.
    dear = replace(CONSTANTS, copy=CONSTANTS.scan + CONSTANTS.copy)
    found = plan(windows, [NUMBERS], constants=dear)
    assert {step.way for step in found.steps} == {"jvm"}
    assert sorted(w.id for step in found.steps for w in step.windows) == ["tumbling_10m", "tumbling_7001ms"]


def test_no_buckets_where_keys_are_many() -> None:
    assert coarse(TEN, 10_000_000, Statistics(1e7, 1e5, HOUR), CONSTANTS) is None
    found = coarse(TEN, 10_000_000, BIG, CONSTANTS)
    assert found is not None and found >= 16 * 11


def test_intervals_of_sparse_events_are_no_more_than_events_make() -> None:
    sparse = Statistics(rows=10, keys=10, span=1000 * HOUR)
    assert sparse.intervals(tumbling("1s")) <= 10
    assert sparse.intervals(hopping("1h", slide="1m")) <= 600


@pytest.mark.parametrize("bad", [{"rows": -1}, {"rows": 1, "keys": 0}, {"rows": float("nan")}, {"rows": 1, "items": 0}])
def test_impossible_statistics_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(QueryError, match="statistics: "):
        Statistics(**bad)  # type: ignore[arg-type]


def test_constants_are_kept_and_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MUNTIN_CALIBRATION", str(tmp_path / "a" / "c.json"))
    assert load_constants() == CONSTANTS
    kept = replace(CONSTANTS, scan=0.5, source="here")
    save_constants(kept)
    assert load_constants() == kept
    (tmp_path / "a" / "c.json").write_text("{}")
    with pytest.raises(QueryError, match="muntin calibrate"):
        load_constants()


def test_events_in_text_are_dearer_to_read_again() -> None:
    text = replace(BIG, text=True)
    assert repr(text).endswith("(given, read from text)")
    parquet, csv = (Prices(statistics, CONSTANTS) for statistics in (BIG, text))
    assert csv.native(TEN).seconds > 3 * parquet.native(TEN).seconds
    # One scan in place of ten: what sharing gains grows.
    gains = [prices.native(TEN).seconds / prices.sweep(TEN).seconds for prices in (parquet, csv)]
    assert gains[1] > gains[0]


def test_a_long_overlap_is_dear_by_hand_however_few_the_events() -> None:
    few = Statistics(rows=500, keys=3, span=HOUR)
    short, long = (hopping("4m", slide="1m"),), (hopping("1d", slide="1m"),)
    assert {step.way for step in plan(short, [NUMBERS], statistics=few).steps} == {"native"}
    assert {step.way for step in plan(long, [NUMBERS], statistics=few).steps} != {"native"}
    assert Prices(few, CONSTANTS).native(long).seconds > 3


def test_a_plan_is_no_worse_than_native_however_few_of_the_rows_are_left() -> None:
    events = Statistics(rows=5e6, keys=50, span=10_000_000 * 1_000_000)
    hops, packed = [hopping("1h", slide="10m")], replace(NUMBERS, parts=2, packable=True, listable=True)
    assert [step.way for step in plan(hops, [packed], statistics=events).steps] == ["arrow"]
    left = plan(hops, [packed], statistics=replace(events, at_most=True))
    assert {step.way for step in left.steps} <= {"native", "spread"}
    assert left.statistics.at_most
    # Many windows share enough to be worth it whatever is left.
    assert {step.way for step in plan(TEN, [NUMBERS], statistics=replace(BIG, at_most=True)).steps} <= {
        "arrow",
        "spread",
    }
    assert [step.way for step in plan(hops, [packed], "arrow", replace(events, at_most=True)).steps] == ["arrow"]


def test_steps_that_become_one_say_once_why() -> None:
    found = plan(TEN, [STRINGS, MEDIAN], "spread", TINY).steps
    assert len(found) == 1
    assert found[0].reason.startswith("one scan, and one group by of all windows")
    assert found[0].reason.count("one scan") == 1
    assert "all values at once" in found[0].reason


def test_functions_of_users_beside_others_go_by_hand_where_reading_twice_does_not_pay() -> None:
    hour = [tumbling("1h")]
    beside = plan(hour, [NUMBERS, MINE], statistics=TINY)
    assert [(step.way, step.aggregates) for step in beside.steps] == [("native", ("low", "mine"))]
    alone = [plan(hour, [group], statistics=TINY).native_seconds for group in (NUMBERS, MINE)]
    assert max(alone) < beside.native_seconds < sum(alone)
    assert beside.seconds == beside.native_seconds
    # Many windows are worth the second reading.
    assert {step.way for step in plan(TEN, [NUMBERS, MINE]).steps} == {"arrow", "python"}
