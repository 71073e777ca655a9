from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from muntin import Window, agg, hopping, optimize, tumbling

if TYPE_CHECKING:
    from muntin import LogicalPlan

NASTY = ("a<b>&\"c\"'d'", "x" * 200, "new\nline \x07\u202e窓 #quot; `md` ]|", "]]></svg><script>alert(1)</script>")


@pytest.fixture(scope="session")
def paper() -> LogicalPlan:
    """Example 7: windows of 20, 30 and 40 minutes."""
    return optimize([tumbling("20m"), tumbling("30m"), tumbling("40m")], agg.min, optimizer="factor", unit="minute")


@pytest.fixture(scope="session")
def several() -> LogicalPlan:
    """Two groups: one tree for min and sum, and median, which is not shared at all."""
    windows = [hopping("1h", "10m"), tumbling("20m"), tumbling("45m"), hopping("90m", "30m"), tumbling("1d")]
    return optimize(windows, [agg.min, agg.sum, agg.median], optimizer="factor", rate=100)


@pytest.fixture(scope="session")
def nasty() -> LogicalPlan:
    """Ids that are markup or controls, an id twice as long as a line, and one window under two ids."""
    windows = [tumbling(f"{10 * (i + 2)}m", id=name) for i, name in enumerate(NASTY)]
    return optimize([*windows, tumbling("20m", id="twin")], agg.min, optimizer="factor")


@pytest.fixture(scope="session")
def huge() -> LogicalPlan:
    """Return a plan over a period of more digits than Python agrees to write out."""
    draw = random.Random(7)
    windows = {Window(size, size) for size in (draw.randrange(10**12, 10**13) for _ in range(420))}
    plan = optimize(windows, agg.sum, optimizer="mincost")
    assert plan.model.period > 10**4_300
    return plan


@pytest.fixture(scope="session")
def fractions() -> LogicalPlan:
    """Return a plan whose costs are not whole."""
    return optimize([Window(5, 3), Window(7, 3), Window(12, 4)], agg.min, optimizer="exact", rate="7/3")


@pytest.fixture(scope="session")
def chain() -> LogicalPlan:
    """Return a plan as deep as it has windows."""
    return optimize([Window(2**i, 2**i) for i in range(1, 61)], agg.sum, optimizer="mincost")
