from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from muntin import Window, agg, optimize
from muntin.errors import ShowError

if TYPE_CHECKING:
    from muntin import LogicalPlan

PAPER = """\
min over 3 windows, 1 event per minute, costs per period of 2h
factor: 150 items read instead of 360, 58.3 % less (2.4x)
overlap is harmless: any cover will do

events
└─ 10m  factor              12 x 10 = 120
   ├─ 20m  tumbling_20m      6 x  2 =  12
   │  └─ 40m  tumbling_40m   3 x  2 =   6
   └─ 30m  tumbling_30m      4 x  3 =  12"""

ASCII = """\
events
`- 10m  factor              12 x 10 = 120
   |- 20m  tumbling_20m      6 x  2 =  12
   |  `- 40m  tumbling_40m   3 x  2 =   6
   `- 30m  tumbling_30m      4 x  3 =  12"""


def test_the_papers_example(paper: LogicalPlan) -> None:
    assert paper.explain() == PAPER
    assert str(paper) == PAPER


def test_ascii(paper: LogicalPlan, nasty: LogicalPlan) -> None:
    assert paper.explain(ascii=True).endswith(ASCII)
    text = nasty.explain(ascii=True)
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 80


def test_costs_of_other_optimizers(paper: LogicalPlan) -> None:
    text = paper.explain(costs={"exact": 150, "none": 360, "mincost": 246})
    assert text.splitlines()[2] == "costs: none 360, mincost 246, factor 150, exact 150"


def test_proofs_are_said() -> None:
    plan = optimize([Window(20, 20), Window(30, 30)], agg.min, optimizer="exact")
    assert plan.explain().splitlines()[1].endswith("proved optimal")


def test_no_sharing_is_said_and_nothing_proved() -> None:
    text = optimize([Window(15, 15), Window(17, 17)], agg.median).explain()
    assert text.splitlines()[1:3] == [
        "auto: 510 items read, nothing saved",
        "no bounded partial to share: each window reads the events",
    ]


def test_each_group_has_a_tree_with_its_reason(several: LogicalPlan) -> None:
    text = several.explain()
    assert text.count("\nevents\n") == len(several.groups) == 2
    for group in several.groups:
        assert group.reason in text
    assert text.count("hopping_90m_30m") == 2


def test_long_trees_are_cut_and_can_be_shown_whole() -> None:
    plan = optimize([Window(2 * r, 2 * r) for r in range(1, 101)], agg.median)
    lines = plan.explain().splitlines()
    # Without sharing every tumbling window reads each event of the period once.
    assert 8_365 * 10**39 < 60 * math.lcm(*range(2, 202, 2)) < 8_367 * 10**39
    assert lines[-1] == "… 60 more, 8.37e42 items (limit=None shows all)"
    assert sum("tumbling_" in line for line in lines) == 40
    assert sum("tumbling_" in line for line in plan.explain(limit=None).splitlines()) == 100
    assert sum("tumbling_" in line for line in plan.explain(limit=7, ascii=True).splitlines()) == 7


@pytest.mark.parametrize("limit", [0, -1, True])
def test_a_limit_that_is_none(paper: LogicalPlan, limit: int) -> None:
    with pytest.raises(ShowError, match=f"limit must be a positive number of windows, or None for all .* got {limit}"):
        paper.explain(limit=limit)


@pytest.mark.parametrize("name", ["nasty", "huge", "fractions", "chain", "several"])
def test_every_line_fits(name: str, request: pytest.FixtureRequest) -> None:
    plan: LogicalPlan = request.getfixturevalue(name)
    lines = plan.explain(limit=None).splitlines()
    assert max(map(cell_len, lines)) <= 80
    for group in plan.groups:
        assert len(lines) > len(group.forest.nodes)


def test_controls_and_line_ends_in_ids_are_written_out(nasty: LogicalPlan) -> None:
    text = nasty.explain()
    assert r"new\nline \x07\u202e窓" in text
    assert "xxx…" in text
    assert """a<b>&"c"'d', twin""" in text


def test_long_numbers_and_labels_leave_room_for_ids() -> None:
    size = 4 * 10**14
    plan = optimize([Window(size, 2, id="i" * 20), Window(2 * size, 2, id="j" * 20)], agg.min, optimizer="mincost")
    assert "i" * 20 in plan.explain()
    assert "j" * 20 in plan.explain()
    assert "short" in optimize([Window(10**70, 1, id="short")], agg.min, optimizer="none").explain()


def test_fractions(fractions: LogicalPlan) -> None:
    assert isinstance(fractions.cost, Fraction)
    assert "420 x 7/3 =" in fractions.explain()


SIZES = st.integers(1, 400)
WINDOWS = st.builds(
    lambda slide, times, rest, name: Window(slide * times + rest % slide, slide, id=name),
    SIZES,
    st.integers(1, 10**9),
    SIZES,
    st.text(min_size=1, max_size=90),
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(WINDOWS, min_size=1, max_size=7, unique_by=lambda w: w.id),
    st.sampled_from(["none", "mincost", "factor"]),
    st.sampled_from([["min"], ["sum"], ["min", "sum", "count"]]),
    st.fractions(Fraction(1, 10**6), 10**6),
    st.booleans(),
)
def test_random_plans_fit_80_columns_and_show_each_window_once(
    windows: list[Window], optimizer: str, names: list[str], rate: Fraction, ascii: bool
) -> None:
    plan = optimize(windows, names, optimizer=optimizer, rate=rate)  # type: ignore[arg-type]
    lines = plan.explain(limit=None, ascii=ascii).splitlines()
    assert max(map(cell_len, lines)) <= 80
    rows = [line for line in lines if line.startswith(("├", "└", "│", " ", "|", "`", "…"))]
    assert len(rows) == sum(len(group.forest.nodes) for group in plan.groups)


def test_a_period_too_short_to_tell_is_said() -> None:
    day = [Window(1440, 1)]
    said = "1440/1 recurs only once in a period of 1,440: the period 'steady' counts the long run"
    assert said in " ".join(optimize(day, agg.sum).explain().split())
    assert said in optimize(day, agg.sum).to_html().replace("&#x27;", "'")
    assert "recurs only" not in optimize(day, agg.sum, period="steady").explain()
    assert "recurs only" not in optimize([Window(20, 20), Window(40, 40)], agg.sum).explain()
