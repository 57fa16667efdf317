"""Runs in parallel: shards that any process can take, on this machine or others."""

from scaleqa.shards.executor import Asked, Executor, Order
from scaleqa.shards.inprocess import InProcess
from scaleqa.shards.processes import Processes
from scaleqa.shards.recipe import Recipe
from scaleqa.shards.worker import Worker

__all__ = ["Asked", "Executor", "InProcess", "Order", "Processes", "Recipe", "Worker"]
