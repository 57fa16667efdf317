"""Data sets: threads with questions, their evidence, and how answers are graded."""

from scaleqa.datasets.protocol import DataSet, DataSetDeclaration
from scaleqa.datasets.registry import dataset_names, find_dataset, open_dataset, open_threads

__all__ = [
    "DataSet",
    "DataSetDeclaration",
    "dataset_names",
    "find_dataset",
    "open_dataset",
    "open_threads",
]
