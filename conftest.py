"""One Spark session for each process of the test run, also for the documents whose examples need one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

# The same examples in every run, so that what failed once fails again: MUNTIN_EXPLORE=1 looks for new ones.
# No deadline: how long an example takes says more of what else the machine does than of the code.
settings.register_profile("same", derandomize="MUNTIN_EXPLORE" not in os.environ, print_blob=True, deadline=None)
settings.load_profile("same")

# tests/test_tutorial.py runs it, its commands too, in a folder of its own.
collect_ignore = ["docs/tutorial.md"]

# Their examples say `SparkSession.builder.getOrCreate()`, as a reader would, and so get the session of the tests.
_ON_SPARK = {"batch.md", "manager.md", "operations.md", "streaming.md", "README.md"}


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
