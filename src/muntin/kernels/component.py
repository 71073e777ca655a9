"""One component of a partial that combines by a ufunc: what most lanes and scans work on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class OneComponent:
    """Name a component by its place in the operator's partial, and the ufunc by which it combines.

    >>> import numpy as np
    >>> OneComponent(2, np.add).components
    slice(2, 3, None)
    """

    component: int
    ufunc: np.ufunc

    @property
    def components(self) -> slice:
        """Say which component this is."""
        return slice(self.component, self.component + 1)
