"""Memory products: each in an environment of its own, used through its public interface."""

from scaleqa.products.environment import Installed, install, installed, remove
from scaleqa.products.product import NotRun, Product, find_product, not_run, product_names, products
from scaleqa.products.running import command, variables

__all__ = [
    "Installed",
    "NotRun",
    "Product",
    "command",
    "find_product",
    "install",
    "installed",
    "not_run",
    "product_names",
    "products",
    "remove",
    "variables",
]
