"""Conformance suites for systems and judges.

They need pytest, which is not a dependency of the package.
"""

import pytest

pytest.register_assert_rewrite("scaleqa.testing.judge", "scaleqa.testing.system")

from scaleqa.testing.embedder import WordEmbedder  # noqa: E402  # asserts are rewritten first
from scaleqa.testing.judge import JudgeConformance  # noqa: E402
from scaleqa.testing.system import SystemConformance  # noqa: E402

__all__ = ["JudgeConformance", "SystemConformance", "WordEmbedder"]
