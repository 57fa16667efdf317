"""The page at `/docs`: the API as its own description has it. Nothing is loaded from elsewhere."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response

from tsim.server.inspector.pages import page

SECURITY = {"Key": {"type": "http", "scheme": "bearer", "bearerFormat": "tsim_…"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A parameter or a field of a body."""

    name: str
    where: str
    about: str
    needed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A request that can be sent."""

    method: str
    path: str
    about: str
    more: str
    fields: tuple[Field, ...]
    example: str


def operations(description: Mapping[str, Any]) -> dict[str, list[Operation]]:
    """Returns the requests of an OpenAPI description, by their tag."""
    found: dict[str, list[Operation]] = {}
    for path, methods in description["paths"].items():
        for method, about in methods.items():
            schema = _body(description, about)
            line, _, more = about.get("description", about.get("summary", "")).partition("\n")
            one = Operation(
                method=method.upper(),
                path=path,
                about=line,
                more=more.strip(),
                fields=(*_parameters(about), *_fields(schema)),
                example=_example(method, path, schema),
            )
            found.setdefault(about.get("tags", ["other"])[0], []).append(one)
    return found


def add_reference(app: FastAPI, *, keys: bool) -> None:
    """Adds the page to an application, and keys to its description if requests need them."""
    routes = APIRouter(include_in_schema=False)
    describe = app.openapi

    def described() -> dict[str, Any]:
        found = describe()
        found.setdefault("components", {})["securitySchemes"] = SECURITY
        found["security"] = [{"Key": []}] if keys else []
        return found

    app.openapi = described  # type: ignore[method-assign]

    @routes.get("/docs")
    async def reference(request: Request) -> Response:
        return page(request, "reference.html", groups=operations(app.openapi()))

    app.include_router(routes)


def _parameters(about: Mapping[str, Any]) -> Iterator[Field]:
    for one in about.get("parameters", ()):
        yield Field(
            name=one["name"],
            where=one["in"],
            about=one.get("description", ""),
            needed=one.get("required", False),
        )


def _body(description: Mapping[str, Any], about: Mapping[str, Any]) -> Mapping[str, Any]:
    content = about.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    name = schema.get("$ref", "").rpartition("/")[2]
    found: Mapping[str, Any] = description["components"]["schemas"].get(name, {})
    return found


def _fields(schema: Mapping[str, Any]) -> Iterator[Field]:
    for name, about in schema.get("properties", {}).items():
        needed = name in schema.get("required", ())
        yield Field(name=name, where="body", about=about.get("description", ""), needed=needed)


def _example(method: str, path: str, schema: Mapping[str, Any]) -> str:
    given = schema.get("examples", [None])[0]
    address = path.replace("{thread}", "alice")
    if given is None:
        return f"curl -X {method.upper()} $URL{address}"
    body = json.dumps(given, ensure_ascii=False)
    return f"curl $URL{address} -H 'Content-Type: application/json' -d '{body}'"
