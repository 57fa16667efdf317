"""Inspect: our questions as its tasks, our rows as its logs. Needs the extra `inspect`."""
