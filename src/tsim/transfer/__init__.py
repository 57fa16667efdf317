"""Export and import of a memory as JSON lines; equal content is exported as equal bytes."""

from tsim.transfer.exporting import export
from tsim.transfer.importing import import_

__all__ = ["export", "import_"]
