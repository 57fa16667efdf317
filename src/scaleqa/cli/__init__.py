"""The command line of scaleqa."""
