"""The exceptions that `scaleqa` raises.

    ScaleqaError
    ├── DataError        records, noise or receipts that cannot be used
    ├── InvalidError     data that could be read but fails validation
    └── WorkError        work that was done by other processes, and failed there

Each message says what was found, what was expected and what to do. `kind` is a stable name for
programs.
"""


class ScaleqaError(Exception):
    """Base class of all errors raised by `scaleqa`."""

    kind = "error"


class DataError(ScaleqaError):
    """Records, noise or receipts that cannot be used."""

    kind = "bad_data"


class InvalidError(ScaleqaError):
    """Data that could be read but fails validation."""

    kind = "invalid"


class WorkError(ScaleqaError):
    """Work that was done by other processes, and failed there."""

    kind = "work_failed"
