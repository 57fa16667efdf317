"""TSIM: episodic memory for endless conversations."""

from tsim import environment
from tsim.errors import (
    AccessError,
    DownloadError,
    InputError,
    KeyMissingError,
    LimitError,
    MismatchError,
    ModelError,
    OutcomeUnknownError,
    RemoteError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnreachableError,
    ThreadMissingError,
    TooLargeError,
    TooManyError,
    TsimError,
    UnknownModelError,
    WeightsCorruptError,
    WeightsMissingError,
)
from tsim.memory import Memory
from tsim.presets import LATE, LIGHT, LONGMEMEVAL, OFFICIAL, Preset
from tsim.residency import Residency
from tsim.thread import Thread
from tsim.types import (
    Episode,
    Episodes,
    Evidence,
    ForgetPreview,
    Forgotten,
    Hit,
    Hits,
    NearTurn,
    NewTurn,
    Receipt,
    Receipts,
    SpanWhy,
    Turn,
    Why,
)
from tsim.verify import Verification

__version__ = "0.1.0"

# ONNX Runtime reads this when it is imported. Nothing above imports it, and every module of the
# package is imported after this one.
environment.disable_telemetry()

__all__ = [
    "LATE",
    "LIGHT",
    "LONGMEMEVAL",
    "OFFICIAL",
    "AccessError",
    "DownloadError",
    "Episode",
    "Episodes",
    "Evidence",
    "ForgetPreview",
    "Forgotten",
    "Hit",
    "Hits",
    "InputError",
    "KeyMissingError",
    "LimitError",
    "Memory",
    "MismatchError",
    "ModelError",
    "NearTurn",
    "NewTurn",
    "OutcomeUnknownError",
    "Preset",
    "Receipt",
    "Receipts",
    "RemoteError",
    "Residency",
    "SpanWhy",
    "StoreBusyError",
    "StoreError",
    "StoreFullError",
    "StoreReadOnlyError",
    "StoreUnreachableError",
    "Thread",
    "ThreadMissingError",
    "TooLargeError",
    "TooManyError",
    "TsimError",
    "Turn",
    "UnknownModelError",
    "Verification",
    "WeightsCorruptError",
    "WeightsMissingError",
    "Why",
    "__version__",
]
