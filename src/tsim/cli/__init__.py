"""The command line of tsim."""
