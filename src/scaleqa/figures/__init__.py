"""Pure: from rows to numbers with their intervals."""
