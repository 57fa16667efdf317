"""TSIM: episodic memory for endless conversations."""

from tsim import environment
from tsim.memory import Memory
from tsim.presets import LATE, LONGMEMEVAL, OFFICIAL, Preset
from tsim.thread import Thread
from tsim.types import Episode, Evidence, Forgotten, Hit, NewTurn, Receipt, Receipts, Turn, Why
from tsim.verify import Verification

__version__ = "0.1.0"

# ONNX Runtime reads this when it is imported. Nothing above imports it, and every module of the
# package is imported after this one.
environment.disable_telemetry()

__all__ = [
    "LATE",
    "LONGMEMEVAL",
    "OFFICIAL",
    "Episode",
    "Evidence",
    "Forgotten",
    "Hit",
    "Memory",
    "NewTurn",
    "Preset",
    "Receipt",
    "Receipts",
    "Thread",
    "Turn",
    "Verification",
    "Why",
    "__version__",
]
