from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import Window, agg
from muntin.share.distinct import DistinctItems
from muntin.share.stairs import Stairs
from muntin.share.stairs_items import Items
from muntin.share.stairs_partials import Aggregation
from muntin.share.stairs_queue import Entry
from muntin.share.subsume import ending_at_slides, separate
from muntin.share.subsume_manager import WindowManager

if TYPE_CHECKING:
    from muntin.share.stairs import Operation

NESTED = (Window(4, 2, id="a"), Window(12, 4, id="b"), Window(36, 12, id="c"))
IN_TANDEM = (Window(4, 2, id="a"), Window(10, 2, id="b"), Window(16, 2, id="c"))


def run(stairs: Stairs, times: range) -> list[tuple[int, str, Any]]:
    found = []
    for time in times:
        while stairs.due <= time:
            end = int(stairs.due)
            found += [(end, window.id, value) for window, value in stairs.slide(end)]
        stairs.arrive(Entry(time, time, stairs.operation.lift(time)))
    return found


def test_every_event_lies_on_one_stair_in_order_of_time() -> None:
    stairs = Stairs(Items(len), NESTED)
    for time in range(100):
        run(stairs, range(time, time + 1))
        held = [entry.value for entry in stairs]
        # The widest window last slid at a multiple of 12.
        assert held == list(range(max(0, time // 12 * 12 - 36), time + 1))
        assert stairs.held.total == len(held)


def test_events_in_transit_wait_for_the_next_level_to_slide() -> None:
    stairs = Stairs(Items(len), NESTED)
    run(stairs, range(72 + 1))
    assert stairs.held.buffer == 1  # all have just slid: only the newest event waits
    run(stairs, range(73, 80))
    # At 78 the first level holds 74 to 77; the second still ends at 76, the third at 72.
    assert [[e.value for e in stair.core] for stair in stairs._stairs] == [
        [74, 75, 76, 77],
        [*range(64, 72)],
        [*range(36, 60)],
    ]
    assert [[e.value for e in stair.buffer] for stair in stairs._stairs] == [[78, 79], [72, 73], [60, 61, 62, 63]]


def test_levels_in_tandem_need_no_buffer() -> None:
    stairs = Stairs(Items(len), IN_TANDEM)
    run(stairs, range(41))
    assert [len(stair.buffer) for stair in stairs._stairs] == [1, 0, 0]
    assert [len(stair.core) for stair in stairs._stairs] == [4, 6, 6]


@pytest.mark.parametrize("windows", [NESTED, IN_TANDEM])
def test_a_group_holds_what_its_widest_window_holds_alone(windows: tuple[Window, ...]) -> None:
    group, widest = Stairs(Items(len), windows), Stairs(Items(len), windows[-1:])
    for time in range(120):
        run(group, range(time, time + 1))
        run(widest, range(time, time + 1))
        assert group.held.total == widest.held.total


def test_sub_aggregates_are_as_coarse_as_their_level() -> None:
    stairs = Stairs(Aggregation(agg.sum), NESTED)
    run(stairs, range(121))
    spans = [[(e.first, e.last) for e in stair.core] for stair in stairs._stairs]
    # Two of 2 units, two of 4, and two of 12, as everything has just slid.
    assert spans == [
        [(116, 117), (118, 119)],
        [(108, 111), (112, 115)],
        [(84, 95), (96, 107)],
    ]


@settings(deadline=None)
@given(st.integers(0, 200))
def test_a_level_holds_a_fixed_number_of_sub_aggregates(upto: int) -> None:
    stairs = Stairs(Aggregation(agg.sum), NESTED)
    run(stairs, range(upto))
    below = 0
    for stair in stairs._stairs:
        size, slide = stair.window.range, stair.window.slide
        assert len(stair.core) <= math.ceil((size - below) / slide) + 1
        assert len(stair.buffer) <= 2
        below = size


def test_slides_take_few_combines_whatever_the_range() -> None:
    counts: Counter[str] = Counter()

    def combine(x: Any, y: Any) -> Any:
        counts["combine"] += 1
        return agg.max.combine(x, y)

    stairs = Stairs(Aggregation(replace(agg.max, combine=combine)), [Window(1000, 1), Window(5000, 1)])
    run(stairs, range(5001))
    counts.clear()
    run(stairs, range(5001, 15001))
    # Four for each level, and one to join the two; to fold the sub-aggregates anew would take thousands.
    assert counts["combine"] / 10_000 < 9.3


def test_no_inverse_and_no_commutativity_are_needed() -> None:
    assert not agg.collect.commutative
    found = run(Stairs(Aggregation(replace(agg.collect, inverse=None)), NESTED), range(37))
    assert found[-1] == (36, "c", list(range(36)))


def test_none_may_be_a_partial() -> None:
    # The partial of nulls only: there is an event, so there is a result.
    manager = WindowManager(agg.max, [Window(2, 2, id="a"), Window(4, 2, id="b")])
    manager.add(0, None)
    assert [(r.window.id, r.value) for r in manager.advance(2)] == [("a", None), ("b", None)]


def test_an_empty_level_slides_unseen() -> None:
    stairs = Stairs(Aggregation(agg.sum), [Window(2, 1, id="a"), Window(10_000, 1000, id="b")])
    stairs.arrive(Entry(0, 0, agg.sum.lift(7)))
    slid = []
    while stairs.due < math.inf:
        slid.append(stairs.due)
        stairs.slide(int(stairs.due))
    # Twice for the narrow window and once more to pass the event on, then only with the wide one.
    assert slid[:4] == [1, 2, 3, 1000]
    assert len(slid) == 3 + 11


class TestReshape:
    @pytest.mark.parametrize("operation", [Items(tuple), Aggregation(agg.collect), DistinctItems()])
    @pytest.mark.parametrize("time", [25, 30, 36, 41])
    def test_a_level_comes_and_goes_without_loss(self, operation: Operation, time: int) -> None:
        stairs, untouched = Stairs(operation, NESTED), Stairs(operation, NESTED)
        run(stairs, range(time))
        run(untouched, range(time))
        now = time - 1
        stairs.reshape([NESTED[0], Window(8, 4), *NESTED[1:]], now)
        stairs.reshape([Window(2, 1), NESTED[0], Window(8, 4), *NESTED[1:]], now)
        assert [e.value for e in stairs] == [e.value for e in untouched]
        stairs.reshape([Window(8, 4), *NESTED[2:]], now)
        stairs.reshape(NESTED, now)
        # While two levels were gone nothing told their slices apart: they start anew from the next whole one.
        since = {window.id: (stairs.complete(window), window.range) for window in NESTED}
        assert since["c"][0] == untouched.complete(NESTED[2])
        found, expected = (
            [
                (end, name, value)
                for end, name, value in run(each, range(time, 90))
                if end - since[name][1] >= since[name][0]
            ]
            for each in (stairs, untouched)
        )
        assert found == expected
        assert len([name for _, name, _ in found if name == "a"]) > 10

    def test_dropping_the_widest_drops_what_only_it_held(self) -> None:
        stairs = Stairs(Items(len), NESTED)
        run(stairs, range(79))
        stairs.reshape(NESTED[:2], 78)
        assert [e.value for e in stairs] == list(range(64, 79))
        assert stairs.since == 64

    def test_a_wider_level_starts_with_what_is_there(self) -> None:
        stairs = Stairs(Items(len), NESTED[:2])
        run(stairs, range(79))
        assert stairs.since == 64
        stairs.reshape(NESTED, 78)
        assert stairs.complete(NESTED[2]) == 64
        run(stairs, range(79, 97))
        assert [e.value for e in stairs] == list(range(64, 97))

    def test_a_branch_has_a_copy_of_what_it_needs(self) -> None:
        stairs = Stairs(Items(len), NESTED)
        run(stairs, range(79))
        branch = stairs.branch([Window(12, 12)], 78)
        assert [e.value for e in branch] == list(range(60, 79))
        assert (branch.due, branch.since) == (84, 60)


def test_memory_of_nested_windows_is_orders_below_that_of_separate_ones() -> None:
    windows = [ending_at_slides(size, slide, f"{size}/{slide}") for slide in (1, 2, 4, 8) for size in range(9, 60)]
    for operation in (Items(len), Aggregation(agg.sum)):
        shared, alone = WindowManager(operation, windows), WindowManager(operation, windows, grouping=separate)
        for time in range(130):
            shared.add(time, 1)
            alone.add(time, 1)
        assert shared.held.total * 20 < alone.held.total
