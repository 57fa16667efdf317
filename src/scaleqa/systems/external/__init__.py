"""Systems in processes of their own, in any language: docs/products.md describes the protocol."""

from scaleqa.systems.external.child import Child
from scaleqa.systems.external.declared import SYSTEM, declare
from scaleqa.systems.external.system import Costs, External

__all__ = ["SYSTEM", "Child", "Costs", "External", "declare"]
