"""Incremental evaluation: the partials of a sliding window, and its aggregate after every slide.

One algorithm per file, each with a card that says what operator it takes and what a slide costs.

>>> from muntin.aggregate import catalog as agg
>>> window = ALGORITHMS["DABA"](agg.max)
>>> window.insert(3)
>>> window.insert(7)
>>> window.query()
7
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from muntin.incremental.bint import BInt
from muntin.incremental.daba import DABA
from muntin.incremental.flatfat_window import FlatFATWindow
from muntin.incremental.flatfit import FlatFIT
from muntin.incremental.panes import Panes
from muntin.incremental.panes_inv import PanesInv
from muntin.incremental.slickdeque import SlickDequeNonInv
from muntin.incremental.slickdeque_inv import SlickDequeInv
from muntin.incremental.twostacks import TwoStacks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from muntin.incremental.structure import MultiRange, Structure

_MANY: tuple[type[MultiRange[Any]], ...] = (Panes, FlatFATWindow, BInt, FlatFIT, SlickDequeInv, SlickDequeNonInv)
_WHOLE: tuple[type[Structure[Any]], ...] = (PanesInv, TwoStacks, DABA)

MULTI_RANGE: Final[Mapping[str, type[MultiRange[Any]]]] = MappingProxyType({kind.card.name: kind for kind in _MANY})
"""The algorithms that serve queries of many ranges, by name."""

ALGORITHMS: Final[Mapping[str, type[Structure[Any]]]] = MappingProxyType(
    {kind.card.name: kind for kind in (*_MANY, *_WHOLE)}
)
"""All algorithms by name."""

__all__ = ["ALGORITHMS", "MULTI_RANGE"]
