"""One plan at a time, and none that nobody waits for: a page that types on asks again before it is answered."""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# So many pages are remembered: a tab that was closed says nothing when it goes.
_PAGES: Final = 64


class Turns:
    """Let requests through one by one; a page's later request overtakes its earlier ones.

    Plans are computed in Python: two at once would each take twice as long.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known = threading.Lock()
        self._latest: OrderedDict[str, int] = OrderedDict()

    @contextmanager
    def turn(self, said: Mapping[str, Any]) -> Iterator[bool]:
        """Wait for one's turn, and tell whether the answer is still wanted.

        >>> turns = Turns()
        >>> with turns.turn({"page": "a", "turn": 7}) as first:
        ...     pass
        >>> with turns.turn({"page": "a", "turn": 6}) as late:
        ...     first, late
        (True, False)
        """
        page, turn = _place(said)
        with self._known:
            self._latest[page] = max(turn, self._latest.pop(page, turn))
            while len(self._latest) > _PAGES:
                self._latest.popitem(last=False)
        with self._lock:
            with self._known:
                wanted = turn >= self._latest.get(page, turn)
            yield wanted


def _place(said: Mapping[str, Any]) -> tuple[str, int]:
    page, turn = said.get("page", ""), said.get("turn", 0)
    whole = isinstance(turn, int) and not isinstance(turn, bool)
    return (page if isinstance(page, str) else "")[:64], turn if whole else 0
