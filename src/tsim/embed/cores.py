"""How many cores there are; apart from the rest, since ONNX Runtime takes long to load."""

import os


def machine_threads() -> int:
    """Returns the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
