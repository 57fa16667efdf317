"""A desk: local web pages on which several people judge what is put before them, one by one.

A room that has one gives it people, pages and a journal. The desk sees to everything else: links
with tokens, safe pages, forms that count once, decisions that are on disk when they are answered.
"""

from scaleqa.desk.app import Desk, Page, Visit, create_app
from scaleqa.desk.directory import held, secret_of
from scaleqa.desk.journal import ID, Entry, Journal, new_id, read_entries
from scaleqa.desk.people import Admission, People, Person
from scaleqa.desk.serving import hold, serve

__all__ = [
    "ID",
    "Admission",
    "Desk",
    "Entry",
    "Journal",
    "Page",
    "People",
    "Person",
    "Visit",
    "create_app",
    "held",
    "hold",
    "new_id",
    "read_entries",
    "secret_of",
    "serve",
]
