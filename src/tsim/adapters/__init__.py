"""The memory inside the frameworks that assistants are written with; each has a module here.

Nothing is imported with this package: `tsim.adapters.messages` needs nothing else, the others need
the extra of their name.
"""
