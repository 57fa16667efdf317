"""What systems need to prove that they keep the rules of the benchmark.

The suite runs under pytest, which the package itself does not need.
"""

import pytest

pytest.register_assert_rewrite("scaleqa.testing.system")

from scaleqa.testing.embedder import WordEmbedder  # noqa: E402  # asserts are rewritten first
from scaleqa.testing.system import SystemConformance  # noqa: E402

__all__ = ["SystemConformance", "WordEmbedder"]
