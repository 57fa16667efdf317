"""Rows as a page: tables and figures, and the way down to a single question."""

from scaleqa.report.page import figures_json, write_report

__all__ = ["figures_json", "write_report"]
