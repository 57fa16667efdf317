"""Hugging Face: records, threads and rows as typed tables with a card."""
