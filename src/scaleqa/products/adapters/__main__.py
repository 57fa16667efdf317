"""Starts an adapter: `python -P __main__.py NAME DISTRIBUTION`."""

import sys
from importlib import import_module
from pathlib import Path

# Last, so that nothing of a product's is hidden by a name of ours.
sys.path.append(str(Path(__file__).parents[1]))

name, package = sys.argv[1:3]
serving = import_module("adapters.serving")
serving.serve(name, package, lambda: import_module(f"adapters.{name}").open_memory)
