"""Every error that `scaleqa` raises on purpose.

    ScaleqaError
    ├── DataError        records, noise or receipts that cannot be used
    └── InvalidError     data that was read but breaks its own rules

Messages say what was found, what was expected and what to do; `kind` names the error for programs.
"""


class ScaleqaError(Exception):
    """Root of all errors raised by `scaleqa`."""

    kind = "error"


class DataError(ScaleqaError):
    """Records, noise or receipts that cannot be used."""

    kind = "bad_data"


class InvalidError(ScaleqaError):
    """Data that was read but breaks its own rules."""

    kind = "invalid"
