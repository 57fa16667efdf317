"""A memory on a server, used like one in a file.

>>> with Client("http://127.0.0.1:8765", key="tsim_…") as memory:  # doctest: +SKIP
...     thread = memory.thread("alice")
...     thread.add("user", "New projects run on one consumer GPU.", id="msg-1")
...     print(thread.context("Which model for the new project?"))
"""

from tsim.client.asynchronous import AsyncClient, AsyncRemoteThread
from tsim.client.blocking import Client, RemoteThread

__all__ = ["AsyncClient", "AsyncRemoteThread", "Client", "RemoteThread"]
