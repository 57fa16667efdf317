"""The `tsim` command line."""
