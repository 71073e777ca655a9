"""Partials as Spark columns: what a recipe is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pyspark.sql import Column
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql.types import DataType

Merge: TypeAlias = "Callable[[Column], Column]"
Make: TypeAlias = "Callable[[], Column]"


class Input(NamedTuple):
    """A column that an aggregate reads: an expression over the events, its type, and a text that tells it apart."""

    column: Column
    type: DataType
    token: str


@dataclass(frozen=True, slots=True)
class Part:
    """One partial column: how events make it and how partials of it merge, both as Spark aggregates.

    Two parts of one name are the same: `avg` and `sum` of a column share its total. `lane` says how a NumPy
    kernel merges it; None where only Spark can. `single` is the partial of one event alone, from which a stream's
    workers make all others; None where Spark alone can make partials. Both are made when they are asked for: a column
    takes a dozen messages to the JVM, and the plan written by hand needs none of them.
    """

    name: str
    make: Make
    merge: Merge
    lane: Lane | None = None
    single: Make | None = None
    heavy: bool = False
    """Spark merges it in objects, row by row, and not in a hash table of numbers."""
    holds: int = 0
    """Of how many numbers the room is that an event takes, where Spark keeps values for each group, or a sketch."""
    sorts: bool = False
    """Spark groups by sorting, because what it keeps is no number that it could change where it stands."""
    in_place: str | None = None
    """The aggregate, by its name in SQL, by which Spark merges it as one number in place; None where it does not."""

    @property
    def packable(self) -> bool:
        """Whether several panes may share a row."""
        return self.lane is not None and self.single is not None and self.in_place is not None

    @property
    def listable(self) -> bool:
        """Whether it comes back from kernels as numbers, so that several windows may share a row."""
        return self.lane is not None and self.lane.load != "row"


@dataclass(frozen=True, slots=True)
class Lane:
    """How a partial crosses to Arrow and back, and which columnar operator combines it there.

    `fields` are the columns that cross, by name, made of the partial's column. `results` are those that come back;
    `rebuild` makes the partial's column of them again. `operator` and `dtypes` name the columnar operator, and
    `load` how its vectors are made of the fields: "lift" where a field is like a single value, "raw" where the fields
    are the components, "row" where the second field, of any type, goes by its row number.
    """

    operator: str
    dtypes: tuple[str, ...]
    load: str
    fields: Mapping[str, Callable[[Column], Column]]
    results: Mapping[str, DataType]
    """The type of each column that comes back."""
    rebuild: Callable[[Mapping[str, Column]], Column] = lambda columns: next(iter(columns.values()))
    ties: Mapping[str, Callable[[Column], Column]] = field(default_factory=dict)
    """The columns that cross in a stream only, before the last field: they settle ties between events of a slice."""

    @property
    def stream_fields(self) -> dict[str, Callable[[Column], Column]]:
        """The columns that cross in a stream."""
        found = list(self.fields.items())
        return dict([*found[:-1], *self.ties.items(), found[-1]]) if self.ties else dict(found)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How Spark computes one aggregate.

    `native` computes it from events, as one writes it by hand. `parts` are the partials from which `finish` makes
    the result; without parts there is only `native`. `item` is the value whose different ones are counted, where
    first appearances tell how many there are.
    """

    native: Column
    parts: tuple[Part, ...] = ()
    finish: Callable[[Mapping[str, Column]], Column] | None = None
    item: Column | None = None

    @property
    def shareable(self) -> bool:
        """Whether windows can share partials."""
        return self.finish is not None

    @property
    def columnar(self) -> bool:
        """Whether NumPy kernels can compute it."""
        return self.shareable and all(part.lane is not None for part in self.parts)

    @property
    def streams(self) -> bool:
        """Whether a stream's workers can compute it from events."""
        return self.columnar and all(part.single is not None for part in self.parts)


def fold(column: Column, merge: Callable[[Column, Column], Column]) -> Column:
    """Merge partials that no aggregate of Spark's can: gather those of a group, and fold the list.

    No partial is null, and no group is empty: the list has a first element.
    """
    partials = F.collect_list(column)
    rest = F.slice(partials, F.lit(2), F.size(partials))
    return F.reduce(rest, F.element_at(partials, 1), merge)
