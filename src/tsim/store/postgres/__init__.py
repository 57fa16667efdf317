"""Memories in a Postgres database with the extension pgvector. Needs the extra `postgres`."""

from tsim.store.postgres.database import PostgresDatabase
from tsim.store.postgres.store import PostgresStore

__all__ = ["PostgresDatabase", "PostgresStore"]
