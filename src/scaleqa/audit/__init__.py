"""The human audit: a sampling plan, blind raters by link, agreement and realism beside the paper's.

Raters see a dialogue, its question and its options, and never where it comes from.
"""
