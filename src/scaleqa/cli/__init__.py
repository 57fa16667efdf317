"""The command line interface of scaleqa."""
