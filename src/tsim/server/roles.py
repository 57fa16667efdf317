"""As whom a server may use a database: as somebody for whom policies of rows hold."""

from tsim.errors import InputError

ROLE = """CREATE ROLE tsim LOGIN PASSWORD '…' NOSUPERUSER NOBYPASSRLS;
GRANT CREATE ON DATABASE … TO tsim;"""


def unbound(place: str) -> InputError:
    """Returns the error about a user who could read all namespaces.

    Args:
        place: The address of the database, without password.
    """
    return InputError(
        f"the user of {place} is not bound by the policies that keep namespaces apart (superuser, "
        f"or BYPASSRLS); nothing was created; use one that is, made by:\n{ROLE}"
    )
