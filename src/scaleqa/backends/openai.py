"""Any server with the OpenAI chat API: OpenAI, Gemini, DeepSeek, Ollama by base URL."""

import json
from collections.abc import Sequence
from typing import Any

import httpx
from pydantic import BaseModel, ValidationError

from scaleqa.backends.protocol import Call, Function, Message, Reply, Request, Said
from tsim.errors import RemoteError
from tsim.http import Patience, post

PATIENCE = Patience(timeout=120.0, attempts=8)
MOST_TOKENS = 300


class _Function(BaseModel):
    name: str
    arguments: str = "{}"


class _Call(BaseModel):
    id: str = ""
    function: _Function


class _Message(BaseModel):
    content: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(BaseModel):
    message: _Message


class _Usage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(BaseModel):
    choices: list[_Choice]
    usage: _Usage = _Usage()


class OpenAI:
    """Asks a chat model at temperature zero, patiently."""

    def __init__(
        self, model: str, *, base_url: str, key: str | None = None, patience: Patience = PATIENCE
    ) -> None:
        """Opens a connection."""
        self.identity = f"{model}@{base_url.rstrip('/')}"
        self._model = model
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._patience = patience
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(headers=headers)

    def reply(self, request: Request) -> Reply:
        """Answers one request."""
        said = self.chat([Message(role="user", content=request.prompt)], most_tokens=MOST_TOKENS)
        return Reply(
            text=said.text,
            prompt_tokens=said.prompt_tokens,
            completion_tokens=said.completion_tokens,
        )

    def chat(
        self,
        messages: Sequence[Message],
        functions: Sequence[Function] = (),
        *,
        most_tokens: int = MOST_TOKENS,
    ) -> Said:
        """Says what comes next."""
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [_message(message) for message in messages],
            "temperature": 0,
            "max_tokens": most_tokens,
        }
        if functions:
            body["tools"] = [_tool(function) for function in functions]
        response = post(self._client, self._url, body, self._patience)
        try:
            found = _Completion.model_validate_json(response.content)
            message = found.choices[0].message if found.choices else _Message()
            calls = tuple(_call(call) for call in message.tool_calls or ())
        except (ValidationError, ValueError) as error:
            raise RemoteError(
                f"{self._url} answered something else than a completion: {response.text[:200]!r}"
            ) from error
        return Said(
            text=message.content or "",
            calls=calls,
            prompt_tokens=found.usage.prompt_tokens,
            completion_tokens=found.usage.completion_tokens,
        )

    def close(self) -> None:
        """Closes the connection."""
        self._client.close()


def _message(message: Message) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        out["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
            }
            for call in message.calls
        ]
    if message.answers:
        out["tool_call_id"] = message.answers
    return out


def _tool(function: Function) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": function.name,
            "description": function.description,
            "parameters": dict(function.parameters),
        },
    }


def _call(call: _Call) -> Call:
    arguments = json.loads(call.function.arguments or "{}")
    if not isinstance(arguments, dict):
        raise ValueError(f"arguments of {call.function.name} are no object")
    return Call(id=call.id, name=call.function.name, arguments=arguments)
