"""Export, import and copies of memories; equal content is exported as equal bytes."""

from tsim.transfer.copying import copy
from tsim.transfer.exporting import export
from tsim.transfer.importing import head_of, import_

__all__ = ["copy", "export", "head_of", "import_"]
