"""What pages tell browsers, and what browsers tell of requests: for every page that we serve."""

from collections.abc import Mapping
from urllib.parse import urlsplit

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Not no-referrer, with which browsers hide where a form is sent from.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def host_name(host: str) -> str:
    """Returns a Host header without its port."""
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdecimal() else host.lower()


def same_host(origin: str, host: str) -> bool:
    """Returns whether an Origin header names the host that a request is for."""
    try:
        return urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


def is_own(headers: Mapping[str, str]) -> bool:
    """Returns whether a browser says that a request was made by a page of this server.

    Args:
        headers: The headers of the request, whose names are compared without regard to case.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if origin == "null":
        return False
    if site is not None:
        return site == "same-origin"
    host = headers.get("host", "")
    return origin is not None and bool(host) and same_host(origin, host)
