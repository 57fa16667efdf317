"""The exceptions that `tsim` raises.

    TsimError
    ├── InputError            a text, file or argument that cannot be used
    │   └── ThreadMissingError    the memory has no thread of this name
    ├── ModelError            an embedding model that cannot be used
    │   ├── UnknownModelError     neither a known name nor a directory
    │   ├── WeightsMissingError   known, but its weights are not on this machine
    │   ├── WeightsCorruptError   stored or downloaded bytes differ from the pinned hash
    │   └── DownloadError         the weights could not be fetched
    ├── RemoteError           an embedding server failed or sent an invalid response
    ├── AccessError           a server does not let this key do this
    │   └── KeyMissingError       it asks for a key, or for another one
    ├── LimitError            more than a server can do at the moment
    │   ├── TooLargeError         a request is larger than it takes
    │   └── TooManyError          requests come faster than it takes them
    └── StoreError            the storage of a memory cannot be used
        ├── MismatchError         it was written with another model or preset
        ├── StoreBusyError        another process locked it for too long
        ├── StoreFullError        the disk is full
        ├── StoreReadOnlyError    it cannot be opened for writing
        ├── StoreUnreachableError its server cannot be reached; nothing was changed
        └── OutcomeUnknownError   it is unknown whether a change was written

Messages say what was found, what was expected and what to do. `kind` is the name of the error in
machine-readable output and never changes once released.
"""


class TsimError(Exception):
    """Base class of all errors raised by `tsim`."""

    kind = "error"


class InputError(TsimError):
    """A text, file or argument that cannot be used as it is."""

    kind = "bad_input"


class ThreadMissingError(InputError):
    """The memory has no thread of this name."""

    kind = "thread_missing"


class ModelError(TsimError):
    """An embedding model that cannot be used."""

    kind = "bad_model"


class UnknownModelError(ModelError):
    """The name is neither a known model nor a directory."""

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
    """An embedding server failed or sent an invalid response."""

    kind = "remote_failed"


class AccessError(TsimError):
    """A server does not let this key do this."""

    kind = "no_access"


class KeyMissingError(AccessError):
    """A server asks for a key, or the given one is unknown, expired or revoked."""

    kind = "no_key"


class LimitError(TsimError):
    """A server has too much to do at the moment."""

    kind = "over_limit"


class TooLargeError(LimitError):
    """A request is larger than a server takes."""

    kind = "too_large"


class TooManyError(LimitError):
    """Requests come faster than a server takes them."""

    kind = "too_many"


class StoreError(TsimError):
    """The storage of a memory cannot be used."""

    kind = "store_failed"


class MismatchError(StoreError):
    """The memory was written with another model or preset."""

    kind = "mismatch"


class StoreBusyError(StoreError):
    """Another process locked the memory for too long."""

    kind = "store_busy"


class StoreFullError(StoreError):
    """The disk is full."""

    kind = "store_full"


class StoreReadOnlyError(StoreError):
    """The memory cannot be opened for writing."""

    kind = "store_read_only"


class StoreUnreachableError(StoreError):
    """The server of the memory cannot be reached, or the connection ended; nothing was changed."""

    kind = "store_unreachable"


class OutcomeUnknownError(StoreError):
    """The connection to the server of the memory ended, maybe after a change was written."""

    kind = "outcome_unknown"
