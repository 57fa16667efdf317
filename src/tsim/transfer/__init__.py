"""Export, import and copies of memories; equal content is exported as equal bytes."""

from tsim.transfer.copying import copy
from tsim.transfer.exporting import export
from tsim.transfer.importing import import_

__all__ = ["copy", "export", "import_"]
