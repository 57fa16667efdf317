"""A tool as the SDK knows it: its schemas kept short, its errors ours."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field, ValidationError

from tsim.errors import InputError, TsimError
from tsim.server.mcp.answers import Answer

log = logging.getLogger("tsim.server")

Describe = Callable[[TsimError], str]
FAILED = "the server failed; its log says why"
# Lists of tools are read by models again and again. Bounds and defaults are not needed there: an
# argument that is out of range is answered with what is wrong.
KEPT = ("type", "description", "properties", "required", "items")


class MemoryTool(Tool):
    """Refuses arguments that it does not know, and says what is wrong in our words."""

    describe: Describe = Field(default=str, exclude=True)

    @classmethod
    def of(
        cls,
        function: Callable[..., Awaitable[Answer]],
        title: str,
        describe: Describe,
        hints: ToolAnnotations,
    ) -> "MemoryTool":
        """Makes a tool of a function.

        Args:
            function: Its name and docstring are those of the tool, its annotations the schemas.
            title: What people see.
            describe: What clients may know of an error.
            hints: What the tool does to its environment.
        """
        text = " ".join((function.__doc__ or "").split())
        tool = cls.from_function(function, title=title, description=text, annotations=hints)
        assert isinstance(tool, cls)  # noqa: S101  # what `from_function` makes
        tool.describe = describe
        tool.parameters = short(tool.parameters)
        tool.fn_metadata.output_schema = short(tool.fn_metadata.output_schema)
        return tool

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> CallToolResult:
        """Answers a call; an error is an answer, too."""
        try:
            answer: Answer = await self.fn(**self._checked(arguments))
        except TsimError as error:
            return _refusal(self.describe(error))
        except Exception:
            log.exception("the tool %s failed", self.name)
            return _refusal(FAILED)
        return CallToolResult(
            content=[TextContent(type="text", text=answer.as_text())],
            structured_content=answer.model_dump(mode="json", exclude_none=True),
        )

    def _checked(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Returns arguments as the function takes them; null is an argument that is not given."""
        given = {name: value for name, value in arguments.items() if value is not None}
        known = self.parameters["properties"]
        unknown = [name for name in given if name not in known]
        if unknown:
            raise InputError(
                f"{self.name} has no argument {unknown[0]!r:.80}; it takes {', '.join(known)}"
            )
        try:
            return self.fn_metadata.validate_arguments(given)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise InputError(f"{where}: {first['msg']}, found {first['input']!r:.80}") from None


def short(schema: Any, types: Mapping[str, Any] | None = None) -> Any:
    """Returns a schema without what its readers do not need; types are written where they are used.

    Args:
        schema: A JSON schema, or a part of one.
        types: The schemas of types that are referred to.
    """
    if not isinstance(schema, dict):
        return schema
    known: Mapping[str, Any] = schema.get("$defs", types or {})
    named = schema.get("$ref", "").removeprefix("#/$defs/")
    present = [part for part in schema.get("anyOf", ()) if part != {"type": "null"}]
    # An optional field is left out rather than null.
    merged = {**(present[0] if present else {}), **known.get(named, {}), **schema}
    kept = {name: value for name, value in merged.items() if name in KEPT}
    if "properties" in kept:
        fields = kept["properties"].items()
        kept["properties"] = {name: short(part, known) for name, part in fields}
    if "items" in kept:
        kept["items"] = short(kept["items"], known)
    return kept


def _refusal(message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=message)], is_error=True)
