"""Adapters of products. They run in the environments of products, where scaleqa is not."""
