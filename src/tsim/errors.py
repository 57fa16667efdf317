"""Every error that `tsim` raises on purpose.

    TsimError
    ├── InputError            a text, file or argument that cannot be used
    ├── ModelError            an embedding model that cannot be used
    │   ├── UnknownModelError     neither a known name nor a directory
    │   ├── WeightsMissingError   known, but its weights are not on this machine
    │   ├── WeightsCorruptError   bytes on disk or on the wire differ from the pinned hash
    │   └── DownloadError         the weights could not be fetched
    ├── RemoteError           an embedding server failed or answered nonsense
    └── StoreError            the memory cannot be used where it is kept
        ├── MismatchError         it was written with another model or preset
        ├── StoreBusyError        other processes hold it for too long
        ├── StoreFullError        the disk is full
        └── StoreReadOnlyError    it may not be written

Messages say what was found, what was expected and what to do. `kind` is the error's name in
machine-readable output and never changes once released.
"""


class TsimError(Exception):
    """Root of all errors raised by `tsim`."""

    kind = "error"


class InputError(TsimError):
    """A text, file or argument that cannot be used as it is."""

    kind = "bad_input"


class ModelError(TsimError):
    """An embedding model that cannot be used."""

    kind = "bad_model"


class UnknownModelError(ModelError):
    """The name is no known model and no directory."""

    kind = "unknown_model"


class WeightsMissingError(ModelError):
    """The model is known but its weights are not on this machine."""

    kind = "weights_missing"


class WeightsCorruptError(ModelError):
    """The bytes differ from the pinned hash."""

    kind = "weights_corrupt"


class DownloadError(ModelError):
    """The weights could not be fetched."""

    kind = "download_failed"


class RemoteError(TsimError):
    """An embedding server failed or answered nonsense."""

    kind = "remote_failed"


class StoreError(TsimError):
    """The memory cannot be used where it is kept."""

    kind = "store_failed"


class MismatchError(StoreError):
    """The memory was written with another model or preset."""

    kind = "mismatch"


class StoreBusyError(StoreError):
    """Other processes hold the memory for too long."""

    kind = "store_busy"


class StoreFullError(StoreError):
    """The disk is full."""

    kind = "store_full"


class StoreReadOnlyError(StoreError):
    """The memory may not be written."""

    kind = "store_read_only"
