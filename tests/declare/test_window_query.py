"""The query as a value: names that it does not take."""

from __future__ import annotations

import pytest

from muntin import agg, tumbling
from muntin.declare.query import WindowQuery
from muntin.errors import QueryError


@pytest.mark.parametrize(
    ("keys", "name", "said"),
    [(("",), "n", "a key needs a name, got ''"), ((), "", "an aggregate needs a name, got ''")],
)
def test_what_has_no_name(keys: tuple[str, ...], name: str, said: str) -> None:
    with pytest.raises(QueryError) as caught:
        WindowQuery(None, "ts", keys, (tumbling("10s"),), ((name, agg.count()),))
    assert str(caught.value) == said
