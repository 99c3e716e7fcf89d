"""The repository of the tests of work."""

from tests.work.conftest import made, place

__all__ = ["made", "place"]
