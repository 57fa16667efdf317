"""Who may read what was written."""

import stat
from pathlib import Path


def open_to_others(root: Path) -> list[str]:
    """Files and directories below `root` that others may read, write or enter."""
    return sorted(
        str(path.relative_to(root))
        for path in root.rglob("*")
        if stat.S_IMODE(path.stat().st_mode) & 0o077
    )
