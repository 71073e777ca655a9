"""What plans that go through Python have in common: keys and windows on the way there and back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql import types as T

from muntin.declare.query import WINDOW_ID
from muntin.spark.panes import floor_div
from muntin.window.spec import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyarrow import RecordBatch
    from pyspark.sql import Column

    from muntin.spark.bound import Bound, Clock
    from muntin.spark.panes import Grid

NUMBER: Final = "_mt_w"
START: Final = "_mt_s"
# What leaves Python in long form begins with these: which window, and the pane in which it starts.
HEAD: Final = (T.StructField(NUMBER, T.IntegerType()), T.StructField(START, T.LongType()))
# An id that SQL takes as it stands: no quote, no backslash, no ${variable}.
_PLAIN: Final = re.compile(r"[\w .,:;/()+=@#%-]*")
SLIDE: Final = "_mt_l"
RANGE: Final = "_mt_r"
# And with these begins what leaves as runs of neighbouring windows: which, and where the first starts, in panes.
RUN_HEAD: Final = (
    T.StructField(WINDOW_ID, T.StringType()),
    *(T.StructField(name, T.LongType()) for name in (START, SLIDE, RANGE)),
)


class Named:
    """Work on batches whose results are named as Spark expects them."""

    def __init__(self, work: Callable[[Iterator[RecordBatch]], Iterator[RecordBatch]], schema: T.StructType) -> None:
        self.work, self.names = work, list(schema.names)

    def __call__(self, batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        """Turn batches of a partition into others."""
        for batch in self.work(batches):
            yield batch.rename_columns(self.names)


def in_panes(windows: Sequence[Window], grid: Grid) -> tuple[Window, ...]:
    """Count windows in panes."""
    return tuple(
        Window(w.range // grid.width, w.slide // grid.width, (w.offset - grid.offset) // grid.width) for w in windows
    )


def key_names(bound: Bound) -> list[str]:
    """Name the keys for the way: `mapInArrow` takes a dot in a column's name for a path."""
    return [f"_mt_k{place}" for place in range(len(bound.query.keys))]


def key_fields(bound: Bound) -> list[T.StructField]:
    """Give the keys' names on the way, and their types."""
    return [T.StructField(n, f.dataType) for n, f in zip(key_names(bound), bound.schema.fields, strict=True)]


def keys_back(bound: Bound) -> list[Column]:
    """Give the keys their own names again."""
    return [F.col(n).alias(name) for n, name in zip(key_names(bound), bound.query.keys, strict=True)]


def identified(clock: Clock, windows: Sequence[Window], grid: Grid) -> list[Column]:
    """Give windows that came back their ids and times."""
    start = grid.start(START)
    window = clock.window(start, f"{start} + {looked_up(f'{window.range}L' for window in windows)}")
    ids = [window.id for window in windows]
    if all(map(_PLAIN.fullmatch, ids)):
        called = F.expr(looked_up(f"'{name}'" for name in ids))
    else:
        called = F.get(F.array(*map(F.lit, ids)), F.col(NUMBER))
    return [called.alias(WINDOW_ID), window]


def looked_up(texts: Iterable[str]) -> str:
    """Find what belongs to a window's number, as SQL."""
    return f"get(array({', '.join(texts)}), {NUMBER})"


def spanned(clock: Clock, grid: Grid) -> Column:
    """Give a window that came back with its range its times."""
    return clock.window(grid.start(START), grid.start(f"({START} + {RANGE})"))


def last_buckets(pane: str, coarse: int, reach: int) -> Column:
    """List the coarse buckets of the last panes of windows that hold a pane: its own and, near its end, the next."""
    own, last = floor_div(pane, coarse), floor_div(f"({pane} + {reach - 1}L)", coarse)
    return F.expr(f"IF({own} = {last}, array({own}), sequence({own}, {last}))")
