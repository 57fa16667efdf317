"""Systems in processes of their own, in any language: docs/systems.md describes the protocol."""

from scaleqa.systems.external.child import Child
from scaleqa.systems.external.costs import Costs
from scaleqa.systems.external.declared import SYSTEM, declare, open_hosted
from scaleqa.systems.external.system import External

__all__ = ["SYSTEM", "Child", "Costs", "External", "declare", "open_hosted"]
