"""What each way of running is expected to take, in seconds, from statistics and calibrated constants."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from muntin.physical.plan import Estimate
from muntin.window.slices import common_measure
from muntin.window.spec import Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin.logical.forest import Forest
    from muntin.physical.constants import Constants
    from muntin.physical.statistics import Statistics

_MICRO: Final = 1e-6
_MILLI: Final = 1e-3
# A window of a tree takes so much more than one of its own, before the first row: 1.2 to 1.5 times over few events.
_NODE: Final = 1.25
# Microseconds that an event takes longer to be read from text, five columns of CSV: it is parsed for each branch anew.
_TEXT: Final = 1.2
# And one that was shuffled or sorted before: where Spark does not do all of that again, each branch reads the shuffle.
_SHUFFLED: Final = 0.4
# Milliseconds that Spark plans and compiles for each window that `window()` copies an event for, beyond a few, whatever
# the number of events: 0.1 s for 60-fold overlap, 0.55 s for 240-fold, 4 to 7 s for 1,440-fold.
_PROJECTION: Final = 2.5
_FEW_COPIES: Final = 16
# Microseconds to sort a row among those of its partition, and to look at the one before.
_SORT: Final = 0.4
# Microseconds to write a row of few columns to Spark's cache, and what it takes to be read from there beyond a scan.
_KEEP: Final = 2.5
# Neighbouring panes that may share a row, where these and the partials make no more columns than Spark's code stands.
PACKS: Final = (4, 8, 16, 32)
COLUMNS: Final = 40
# So many windows make a run that is worth a list; the code that takes lists apart takes so many ms to compile.
_RUN: Final = 8
_LISTS: Final = 400.0
# Microseconds for one call or two of a function written in Python.
OBJECT: Final = 2.0


@dataclass(frozen=True, slots=True)
class Prices:
    """Price plans for one group of aggregates: `parts` partial columns, `natives` aggregates as written by hand."""

    statistics: Statistics
    constants: Constants
    parts: int = 1
    heavy: int = 0
    """How many of the parts Spark can only merge in objects."""
    distinct: int = 0
    """How many of the aggregates count different values."""
    packable: bool = False
    """Whether partials are numbers, several of which may share a row."""
    listable: bool = False
    """Whether the results of neighbouring windows may share a row."""
    sorts: bool = False
    """Whether Spark groups by sorting."""
    folds: int = 0
    """How many parts are merged in objects even by hand, because the rows are partials."""

    def native(self, windows: Sequence[Window]) -> Estimate:
        """Price the plan written by hand: each window scans, copies, groups and exchanges by itself."""
        plain = self._one_by_one(windows, self.constants.group_struct)
        overlaps = [-(-window.range // window.slide) for window in windows]
        compiled = _MILLI * _PROJECTION * sum(max(overlap - _FEW_COPIES, 0) for overlap in overlaps)
        plain = replace(plain, seconds=plain.seconds + compiled)
        return replace(plain, seconds=plain.seconds + self._estimate(self._sent(windows), 0.0).seconds)

    def firsts(self, windows: Sequence[Window]) -> Estimate:
        """Price distinct counts for all windows at once, from the appearances of values in panes."""
        c = self.constants
        rows = self.statistics.rows
        met = self.statistics.appearances(self.pane(windows))
        # Where nobody knows how many values there are, every event may have its own.
        panes = self.distinct * (rows if met is None else met)
        found = sum(self.statistics.intervals(window) for window in windows)
        work = rows * self._scan + self.distinct * rows * (c.group + (c.copy if self.distinct > 1 else 0))
        # Appearances are grouped, then sent to their value's partition and sorted; each changes counts at two starts.
        work += panes * (2 * c.exchange + _SORT + len(windows) * 2 * (c.copy + c.group))
        # Starts at which counts change are grouped, then sent to their window's partition and sorted.
        work += found * (2 * c.exchange + _SORT + self.distinct * c.part)
        return self._estimate(work, c.branch + 4 * c.stage, panes=panes, windows=found)

    def direct(self, windows: Sequence[Window]) -> Estimate:
        """Price a scan for each window, grouped by integers."""
        return self._one_by_one(windows, self.constants.group)

    def spread(self, windows: Sequence[Window], *, panes: bool = False) -> Estimate:
        """Price one group by of all windows: a copy of each event, or of each pane of them, for every interval."""
        c, copied = self.constants, self.statistics.rows
        work, fixed, kept = copied * self._scan, c.branch + c.stage, 0.0
        if panes:
            work += copied * (c.group + self._grouped)
            kept = copied = self.statistics.intervals(self.pane(windows))
            work += kept * (c.exchange + self._grouped)
            fixed += c.stage
        copies = copied * _overlaps(windows)
        found = sum(self.statistics.intervals(window) for window in windows)
        work += copies * (c.copy + c.group + self._grouped + c.fold * (self.heavy if panes else self.folds))
        work += found * (c.exchange + self._grouped) + self._sent(windows)
        return self._estimate(work, fixed, panes=kept, windows=found)

    def copies(self, windows: Sequence[Window]) -> float:
        """Count the copies of events: one for each interval that holds an event."""
        return self.statistics.rows * _overlaps(windows)

    def tree(self, forest: Forest) -> Estimate:
        """Price a forest in the JVM: what reads the events scans them, what reads a window groups its rows again."""
        c = self.constants
        work = total = 0.0
        for node in forest.nodes:
            found = self.statistics.intervals(node.window)
            overlap = -(-node.window.range // node.window.slide)
            if node.parent is None:
                work += self.statistics.rows * (self._scan + overlap * (c.group + self._grouped))
                work += found * (c.exchange + self._grouped)
                continue
            # Each of the parent's rows goes to all the windows that read it, and is read once per branch.
            copies = found * float(len(forest.starts(node)))
            work += self.statistics.intervals(node.parent) * c.copy + copies * (c.group + self._grouped + c.copy)
            work += copies * self.heavy * c.fold + found * (c.exchange + self._grouped)
        total = sum(self.statistics.intervals(node.window) for node in forest.nodes if not node.factor)
        return self._estimate(work, _NODE * len(forest.nodes) * (c.stage + c.branch), windows=total)

    def least_tree(self, windows: Sequence[Window]) -> float:
        """Say what a forest of windows takes at least, in seconds: one reads the events, and each has its rows.

        >>> from muntin import agg, optimize, tumbling
        >>> from muntin.physical.constants import Constants
        >>> from muntin.physical.statistics import Statistics
        >>> windows = [tumbling("20s"), tumbling("40s")]
        >>> prices = Prices(Statistics(rows=1e6, span=10**12), Constants())
        >>> prices.least_tree(windows) < prices.tree(optimize(windows, agg.min).groups[0].forest).seconds
        True
        """
        c, several = self.constants, dict.fromkeys(windows)
        work = self.statistics.rows * (self._scan + c.group + self._grouped)
        work += sum(self.statistics.intervals(window) for window in several) * (c.exchange + self._grouped)
        return self._estimate(work, _NODE * len(several) * (c.stage + c.branch)).seconds

    def sweep(self, windows: Sequence[Window]) -> Estimate:
        """Price panes in the JVM and kernels over all windows, with as many panes in a row as is cheapest."""
        c = self.constants
        pane = self.pane(windows)
        panes = self.statistics.intervals(pane)
        found = sum(self.statistics.intervals(window) for window in windows)
        work = self.statistics.rows * (self._scan + c.group + self._grouped)
        work += min(self._crossing(pane, pack) for pack in self._packs)
        fixed = c.branch + 2 * c.stage + c.python
        if self.runs(windows):
            return self._estimate(work + found * (c.element + self._more), fixed + _LISTS, panes=panes, windows=found)
        return self._estimate(work + found * (c.leave + self._more), fixed, panes=panes, windows=found)

    def least_parted(self, windows: Sequence[Window], *, direct: bool = False) -> float:
        """Say what windows take at least, in seconds, in two groups or more with panes of their own.

        With `direct`, any of them may go without panes, straight from the events.

        >>> from muntin import tumbling
        >>> from muntin.physical.constants import Constants
        >>> from muntin.physical.statistics import Statistics
        >>> windows = [tumbling("20s"), tumbling("40s")]
        >>> prices = Prices(Statistics(rows=1e6, span=10**12), Constants())
        >>> one, two = (prices.sweep(part).seconds for part in (windows, windows[:1]))
        >>> one < prices.least_parted(windows) <= two + prices.sweep(windows[1:]).seconds
        True
        """
        c = self.constants
        found = [self.statistics.intervals(window) for window in windows]
        read = self.statistics.rows * (self._scan + c.group + self._grouped)
        crossing = min(self._crossing(self.pane([window]), pack) for window in windows for pack in self._packs)
        panes = self._estimate(read + crossing, c.branch + 2 * c.stage + c.python).seconds
        each = min(c.leave, c.element) + self._more
        most = self._estimate(sum(found) * each, 0.0).seconds
        if not direct:
            return 2 * panes + most
        # What a window takes more that goes straight from the events: one of several does so at least, or all do.
        straight = self._estimate(read, c.branch + c.stage).seconds
        more = [straight + self._estimate(n * (c.exchange + self._grouped - each), 0.0).seconds for n in found]
        some = panes + (sum(m for m in more if m < 0) if min(more) < 0 else min(more))
        return most + min(2 * panes, some, sum(more))

    def runs(self, windows: Sequence[Window]) -> bool:
        """Tell whether windows are many and mostly neighbours of others, so that it pays to hand them back in lists.

        >>> from muntin import tumbling
        >>> from muntin.physical.constants import Constants
        >>> from muntin.physical.statistics import Statistics
        >>> dense, sparse = (Statistics(rows=1e8, keys=keys, span=100_000_000_000_000) for keys in (1, 1e7))
        >>> [Prices(events, Constants(), listable=True).runs([tumbling("10s")]) for events in (dense, sparse)]
        [True, False]
        """
        if not self.listable:
            return False
        found = runs = 0.0
        for window in windows:
            many = self.statistics.intervals(window)
            there = self.statistics.keys * (self.statistics.span + window.range) / window.slide
            # A run ends where the next interval has no event, and with its key.
            found += many
            runs += min(many, max(many * (1 - many / there), self.statistics.keys))
        saved = found * (self.constants.leave - self.constants.element) * _MICRO / self.constants.cores
        return found >= _RUN * runs and saved > _LISTS * _MILLI

    def pack(self, windows: Sequence[Window]) -> int:
        """Choose how many neighbouring panes share a row on their way to Python.

        >>> from muntin import tumbling
        >>> from muntin.physical.constants import Constants
        >>> from muntin.physical.statistics import Statistics
        >>> few, many = (Statistics(rows=1e6, keys=keys, span=1_000_000_000_000) for keys in (1, 1e5))
        >>> windows = [tumbling("2s"), tumbling("3s")]
        >>> [Prices(events, Constants(), packable=True).pack(windows) for events in (few, many)]
        [32, 1]
        """
        pane = self.pane(windows)
        return min(self._packs, key=lambda pack: self._crossing(pane, pack))

    @property
    def _packs(self) -> tuple[int, ...]:
        return (1, *(pack for pack in PACKS if pack * self.parts <= COLUMNS)) if self.packable else (1,)

    def _crossing(self, pane: Window, pack: int) -> float:
        """Price the way of panes to Python, from the grouping of their events on."""
        c, rows = self.constants, self.statistics.intervals(pane, pack)
        if pack == 1:
            return rows * (c.exchange + c.enter + 2 * self._more)
        # An event is compared with every place of its pack, and the places without events go along.
        return pack * self.parts * (self.statistics.rows * c.place + rows * c.cell) + rows * (c.exchange + c.enter)

    def kept(self, pane: Window, readers: int) -> Estimate:
        """Price panes that are kept in memory for several queries to read in place of the events."""
        c, panes = self.constants, self.statistics.intervals(pane)
        work = self.statistics.rows * (self._scan + c.group + self._grouped)
        work += panes * (c.exchange + _KEEP + 2 * self._more + self.heavy * c.fold)
        # A job over what is kept takes longer to start than one over files.
        return self._estimate(work, c.branch + (2 + 3 * readers) * c.stage, panes=panes)

    def join(self, windows: Sequence[Window]) -> Estimate:
        """Price putting results side by side that were computed apart: both are sent to partitions and sorted."""
        c = self.constants
        found = sum(self.statistics.intervals(window) for window in windows)
        return self._estimate(found * 2 * (c.exchange + c.group), 2 * c.stage, windows=found)

    def gathered(self, windows: Sequence[Window]) -> Estimate:
        """Price functions that users wrote as written by hand: each window gathers events and hands them to Python."""
        c, rows = self.constants, self.statistics.rows
        copies = sum(rows * -(-window.range // window.slide) for window in windows)
        found = sum(self.statistics.intervals(window) for window in windows)
        work = len(windows) * rows * self._scan + copies * (c.group_struct + c.exchange + c.enter + OBJECT)
        return self._estimate(work + found * c.leave, len(windows) * (c.branch + c.stage) + c.python, windows=found)

    def again(self, windows: Sequence[Window]) -> Estimate:
        """Price to read the events once more for each window, and all that it has once."""
        c = self.constants
        return self._estimate(len(windows) * self.statistics.rows * self._scan, len(windows) * (c.branch + c.stage))

    def objects(self, windows: Sequence[Window]) -> Estimate:
        """Price every event through Python, as functions that users wrote need it."""
        c = self.constants
        found = sum(self.statistics.intervals(window) for window in windows)
        work = self.statistics.rows * (self._scan + c.enter + OBJECT) + found * (c.leave + OBJECT)
        return self._estimate(work, c.branch + c.stage + c.python, windows=found)

    def _one_by_one(self, windows: Sequence[Window], group: float) -> Estimate:
        """Price a branch for each window, in which grouping a row costs `group`."""
        c, rows = self.constants, self.statistics.rows
        work = total = 0.0
        for window in windows:
            overlap = -(-window.range // window.slide)
            found = self.statistics.intervals(window)
            total += found
            # Of the copies only those that fall on different windows of a partition survive the first grouping.
            each = group + self._grouped + self.folds * c.fold + (c.copy if overlap > 1 else 0)
            work += rows * (self._scan + overlap * each) + found * (c.exchange + self._grouped)
        return self._estimate(work, len(windows) * (c.branch + c.stage), windows=total)

    def _sent(self, windows: Sequence[Window]) -> float:
        """Price the way of different values to their partition."""
        if not self.distinct:
            return 0.0
        met = [self.statistics.appearances(window) for window in windows]
        # Where nobody knows how many values there are, every event may have its own.
        sent = self.copies(windows) if None in met else sum(found or 0.0 for found in met)
        return self.distinct * sent * self.constants.exchange

    @staticmethod
    def pane(windows: Sequence[Window]) -> Window:
        """Make the window whose intervals are the panes of some windows."""
        width = common_measure(list(windows))
        return Window(width, width, windows[0].offset % width, timed=True)

    @property
    def _scan(self) -> float:
        read = _TEXT if self.statistics.text else 0.0 if self.statistics.seen else _SHUFFLED
        return self.constants.scan + read

    @property
    def _more(self) -> float:
        return self.constants.part * (self.parts - 1)

    @property
    def _grouped(self) -> float:
        return self._more + (_SORT if self.sorts else 0.0)

    def _estimate(self, micros: float, fixed: float, *, panes: float = 0.0, windows: float = 0.0) -> Estimate:
        return Estimate(micros * _MICRO / self.constants.cores + fixed * _MILLI, panes, windows)


def _overlaps(windows: Sequence[Window]) -> int:
    return sum(-(-window.range // window.slide) for window in windows)
