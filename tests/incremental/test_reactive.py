"""The Reactive Aggregator behind the windowing library: Figure 1, keys, order, output, snapshots."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregate import catalog as agg
from muntin.errors import AggregateError, IncrementalError
from muntin.incremental.reactive import Output, ReactiveAggregator, Result
from muntin.incremental.windowing.policies import CountPolicy, DeltaPolicy, Sliding, TimePolicy, Tumbling
from muntin.incremental.windowing.windower import WHOLE, Windower
from tests.incremental.counting import Calls, Stop, counted
from tests.incremental.windows_by_definition import Definition, Item, feed, streams, windows

if TYPE_CHECKING:
    from muntin.incremental.windowing.events import Event

DAY, MINUTE = 24 * 60, 1
STATISTICS = {"mxl": agg.max("len"), "num": agg.max_count("len"), "who": agg.arg_max("len", "caller")}


# --- the query of Figure 1 ------------------------------------------------------------------------------


def test_figure_1_gives_what_its_relational_algebra_says() -> None:
    rng = random.Random(1)
    calls = sorted((rng.randrange(9 * DAY), rng.randint(1, 6) / 2, f"caller{i}") for i in range(30))
    windower = Windower(Sliding(TimePolicy(DAY), TimePolicy(MINUTE)), partitioned=False)
    aggregator = ReactiveAggregator(STATISTICS, fifo=True)
    results: list[Result] = []
    for time, length, caller in calls:
        results += aggregator.consume(windower.arrive(None, time, {"len": length, "caller": caller}))
    results += aggregator.consume(windower.advance(11 * DAY))

    expected: list[Result] = []
    last: dict[str, Any] | None = None
    for end in range(calls[0][0] + 1, 11 * DAY):
        held = [(length, caller) for time, length, caller in calls if end - DAY <= time < end]
        row = None
        if held:
            longest = max(length for length, _ in held)
            callers = [caller for length, caller in held if length == longest]
            row = {"mxl": longest, "num": len(callers), "who": callers[0]}  # ties: the first in order of arrival
        if row is not None and row != last:
            expected.append(Result(WHOLE, end, row))
        last = row
    assert results == expected and len(expected) > 20
    assert aggregator.keys == ()


# --- every window of the windowing library --------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(windows, streams(), st.booleans(), st.sampled_from([1, 2, 8]))
def test_every_window_is_aggregated_in_order(window: Any, stream: list[Item], partitioned: bool, least: int) -> None:
    windower, definition = Windower(window, partitioned=partitioned), Definition(window, partitioned)
    aggregator = ReactiveAggregator({"labels": agg.collect("label")}, output="rstream", capacity=least)
    found: dict[Any, list[tuple[int, list[int]]]] = {}
    for item in stream:
        for result in aggregator.consume(feed(windower, item)):
            found.setdefault(result.key, []).append((result.time, result.values["labels"]))
        definition.step(item)
    assert found == dict(definition.found)
    assert set(aggregator.keys) <= set(windower.keys)


@settings(max_examples=80, deadline=None)
@given(windows, streams(ordered=True))
def test_both_buffers_give_the_same_results_in_order(window: Any, stream: list[Item]) -> None:
    windower = Windower(window)
    events = [event for item in stream for event in feed(windower, item)]
    query = {"labels": agg.collect("label"), "furthest": agg.max("km"), "mean": agg.avg("label")}
    any_order, in_order = (ReactiveAggregator(query, fifo=fifo) for fifo in (False, True))
    assert list(any_order.consume(events)) == list(in_order.consume(events))
    assert any_order.keys == in_order.keys and any_order.tuples == in_order.tuples


@settings(max_examples=80, deadline=None)
@given(windows, streams(), st.data())
def test_a_restored_aggregator_goes_on_identically(window: Any, stream: list[Item], data: st.DataObject) -> None:
    ordered = data.draw(st.booleans())
    output = cast("Output", data.draw(st.sampled_from(["istream", "rstream"])))
    if ordered:
        stream = sorted((item._replace(km=item.time) for item in stream), key=lambda item: item.time)
    query = {"labels": agg.collect("label"), "spread": agg.stddev("km"), "where": agg.arg_min("km", "label")}
    windower, aggregator = Windower(window), ReactiveAggregator(query, fifo=ordered, output=output)
    events: list[Event] = [event for item in stream for event in feed(windower, item)]
    cut = data.draw(st.integers(0, len(events)))
    list(aggregator.consume(events[:cut]))
    twin = ReactiveAggregator.restore(query, aggregator.snapshot(), fifo=ordered, output=output)
    assert list(aggregator.consume(events[cut:])) == list(twin.consume(events[cut:]))
    assert aggregator.snapshot() == twin.snapshot()


# --- output ---------------------------------------------------------------------------------------------


def maxima(output: Output, lengths: list[float]) -> list[Any]:
    windower = Windower(Sliding(CountPolicy(2)), partitioned=False)
    aggregator = ReactiveAggregator({"max": agg.max("len")}, output=output)
    events = [event for time, length in enumerate(lengths) for event in windower.arrive(None, time, {"len": length})]
    return [(result.time, result.values["max"]) for result in aggregator.consume(events)]


def test_istream_gives_only_new_results() -> None:
    assert maxima("istream", [3, 1, 1, 4, 4, 2]) == [(0, 3), (2, 1), (3, 4)]
    assert maxima("rstream", [3, 1, 1, 4, 4, 2]) == [(0, 3), (1, 3), (2, 1), (3, 4), (4, 4), (5, 4)]


def test_nan_is_no_new_result() -> None:
    (at, first), *rest = maxima("istream", [math.nan, float("nan"), 5, float("nan")])
    assert at == 0 and math.isnan(first)
    assert rest == []


def test_a_result_that_went_and_came_again_is_new() -> None:
    windower = Windower(Tumbling(TimePolicy(10)), partitioned=False)
    aggregator = ReactiveAggregator({"n": agg.count()})
    results = [r for time in (1, 11, 35, 50) for r in aggregator.consume(windower.arrive(None, time, {}))]
    # At 20 the result of 10 still stands; at 30 there is none, and that of 40 is new.
    assert [(result.time, result.values) for result in results] == [(10, {"n": 1}), (40, {"n": 1})]


def test_a_result_given_out_may_be_changed_by_its_taker() -> None:
    aggregator = ReactiveAggregator({"all": agg.collect("x")})
    aggregator.insert("k", 0, {"x": 1})
    result = aggregator.trigger("k", 0)
    assert result is not None and result.values == {"all": [1]}
    result.values["all"].append(2)
    assert aggregator.trigger("k", 1) is None


# --- keys -----------------------------------------------------------------------------------------------


def test_keys_are_apart_and_go_when_their_window_is_empty() -> None:
    aggregator = ReactiveAggregator({"sum": agg.sum("x")}, output="rstream")
    for id, (key, x) in enumerate([("a", 1), ("b", 10), ("a", 2)]):
        aggregator.insert(key, id, {"x": x})
    assert aggregator.trigger("a", 5) == Result("a", 5, {"sum": 3})
    assert aggregator.trigger("b", 5) == Result("b", 5, {"sum": 10})
    aggregator.evict("b", 1)
    assert list(aggregator.keys) == ["a", "b"]
    assert aggregator.trigger("b", 6) is None
    assert list(aggregator.keys) == ["a"]
    assert aggregator.trigger("b", 7) is None and aggregator.trigger("c", 7) is None


@pytest.mark.parametrize("fifo", [False, True])
def test_many_keys_come_and_go(fifo: bool) -> None:
    windower = Windower(Sliding(TimePolicy(20), TimePolicy(10)))
    aggregator = ReactiveAggregator({"n": agg.count()}, fifo=fifo)
    for time in range(2000):
        list(aggregator.consume(windower.arrive(time // 5, time, {})))
        assert len(aggregator.keys) <= 7 and aggregator.tuples <= 30


# --- bad input ------------------------------------------------------------------------------------------


def test_first_in_first_out_refuses_any_other_order() -> None:
    aggregator = ReactiveAggregator({"all": agg.collect("x")}, fifo=True)
    for id in range(3):
        aggregator.insert("k", id, {"x": id})
    with pytest.raises(IncrementalError, match=r"tuple 1 cannot be evicted first in, first out: the oldest is tuple 0"):
        aggregator.evict("k", 1)
    with pytest.raises(IncrementalError, match=r"tuple 3 comes before tuple 1, out of order.* fifo=False"):
        aggregator.insert("k", 3, {"x": 9}, before=1)
    assert aggregator.trigger("k", 0) == Result("k", 0, {"all": [0, 1, 2]})
    for id in range(3):
        aggregator.evict("k", id)
    with pytest.raises(IncrementalError, match=r"tuple 3 cannot be evicted.*: the window is empty"):
        aggregator.evict("k", 3)


def test_events_for_what_is_not_there() -> None:
    aggregator = ReactiveAggregator({"all": agg.collect("x")})
    with pytest.raises(IncrementalError, match=r"no window for the key 'k', hence no tuple 4 to evict"):
        aggregator.evict("k", 4)
    with pytest.raises(IncrementalError, match=r"no partial with handle 7"):
        aggregator.insert("k", 1, {"x": 1}, before=7)
    assert aggregator.keys == ()
    with pytest.raises(KeyError, match="x"):
        aggregator.insert("k", 1, {"y": 1})
    assert aggregator.keys == ()


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({}, "no aggregates to compute"),
        ({"m": agg.median("x")}, "m: `median` has no partials to combine.* Use .*approx_quantile"),
        ({"d": agg.approx_distinct("x")}, "d: `approx_distinct` is one of Spark's sketches"),
        ({"s": agg.sum("x", filter="y > 3")}, r"s: sum\(x, filter=y > 3\) has a filter, which only Spark evaluates"),
    ],
)
def test_queries_that_cannot_be(query: Any, text: str) -> None:
    with pytest.raises(AggregateError, match=text):
        ReactiveAggregator(query)


def test_settings_that_cannot_be() -> None:
    with pytest.raises(IncrementalError, match=r"output must be 'istream'.*got 'dstream'"):
        ReactiveAggregator(STATISTICS, output=cast("Output", "dstream"))
    with pytest.raises(IncrementalError, match="capacity must be a whole number of at least 1, got 0"):
        ReactiveAggregator(STATISTICS, capacity=0)


def test_a_snapshot_of_another_query_is_refused() -> None:
    data = ReactiveAggregator({"n": agg.count()}).snapshot()
    with pytest.raises(IncrementalError, match=r"over `n=sum\(x\)` was expected, .* over `n=count\(\)`"):
        ReactiveAggregator.restore({"n": agg.sum("x")}, data)
    with pytest.raises(IncrementalError, match=r"fifo=True.* was expected, .*fifo=False"):
        ReactiveAggregator.restore({"n": agg.count()}, data, fifo=True)
    with pytest.raises(IncrementalError, match="cut short"):
        ReactiveAggregator.restore({"n": agg.count()}, data[:-3])


def test_a_combine_that_raises_leaves_the_aggregator_as_it_was() -> None:
    def filled() -> tuple[ReactiveAggregator, Calls]:
        function, calls = counted(agg.collect)
        aggregator = ReactiveAggregator({"all": function("x")})
        for id in range(9):
            aggregator.insert("k", id, {"x": id})
        return aggregator, calls

    aggregator, calls = filled()
    assert aggregator.trigger("k", 0) is not None
    for nth in range(1, calls.taken() + 1):
        aggregator, calls = filled()
        before = aggregator.snapshot()
        calls.reset(fail_at=nth)
        with pytest.raises(Stop):
            aggregator.trigger("k", 0)
        assert aggregator.snapshot() == before
        calls.reset()
        assert aggregator.trigger("k", 0) == Result("k", 0, {"all": list(range(9))})


# --- costs ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fifo", [False, True])
@pytest.mark.parametrize("slide", [1, 8, 64])
def test_m_tuples_of_a_firing_are_written_in_one_pass(fifo: bool, slide: int) -> None:
    size = 256
    function, calls = counted(agg.max)
    windower = Windower(Sliding(CountPolicy(size), CountPolicy(slide)), partitioned=False)
    aggregator = ReactiveAggregator({"max": function("x")}, fifo=fifo)
    worst = 0
    for time in range(4 * size):
        list(aggregator.consume(windower.arrive(None, time, {"x": time % 97})))
        taken = calls.taken()
        worst = max(worst, taken if time >= size else 0)
        assert taken == 0 or (time + 1) % slide == 0  # nothing is combined between triggers
    assert 0 < worst <= slide * (1 + math.ceil(math.log2(size / slide)))


def test_a_delta_window_evicts_from_the_middle() -> None:
    windower = Windower(Sliding(DeltaPolicy("x", 5)), partitioned=False)
    aggregator = ReactiveAggregator({"all": agg.collect("x")}, output="rstream")
    results = [
        r for time, x in enumerate([10, 6, 9, 12]) for r in aggregator.consume(windower.arrive(0, time, {"x": x}))
    ]
    assert [result.values["all"] for result in results] == [[10], [10, 6], [10, 6, 9], [10, 9, 12]]
