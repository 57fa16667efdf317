"""A conformance suite for systems.

It needs pytest, which is not a dependency of the package.
"""

import pytest

pytest.register_assert_rewrite("scaleqa.testing.system")

from scaleqa.testing.embedder import WordEmbedder  # noqa: E402  # asserts are rewritten first
from scaleqa.testing.system import SystemConformance  # noqa: E402

__all__ = ["SystemConformance", "WordEmbedder"]
