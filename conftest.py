"""One Spark session for the whole test run, also for the documents whose examples need one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

# Their examples say `SparkSession.builder.getOrCreate()`, as a reader would, and so get the session of the tests.
_ON_SPARK = {"batch.md", "README.md"}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Start the session of the tests, and stop it after the last one."""
    from muntin.testing.session import small_session

    session = small_session()
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def _session_for_documents(request: pytest.FixtureRequest) -> None:
    """Have the session there before a document asks for it."""
    if request.node.path.name in _ON_SPARK:
        request.getfixturevalue("spark")
