"""Servers with the OpenAI chat API, such as OpenAI, Gemini, DeepSeek and Ollama."""

import json
from collections.abc import Sequence
from typing import Any

import httpx
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from scaleqa.backends.declaration import Access, BackendDeclaration
from scaleqa.backends.limit import Limiter
from scaleqa.backends.protocol import MOST_TOKENS, Call, Function, Message, Reply, Request
from scaleqa.options import NoOptions
from tsim import environment
from tsim.errors import RemoteError
from tsim.http import Patience, post

KEY_VARIABLE = "OPENAI_API_KEY"
PATIENCE = Patience(timeout=120.0, attempts=8)
TEMPERATURE = 0


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


class Completion(BaseModel):
    """The fields of a chat completion that are used."""

    choices: list[_Choice]
    usage: _Usage = _Usage()

    @property
    def message(self) -> _Message:
        """The message of the first choice, or an empty one if there are no choices."""
        return self.choices[0].message if self.choices else _Message()

    @property
    def reply(self) -> Reply:
        """The completion as a `Reply`."""
        return Reply(
            text=self.message.content or "",
            prompt_tokens=self.usage.prompt_tokens,
            completion_tokens=self.usage.completion_tokens,
        )


class OpenAI:
    """A chat model behind an HTTP API, at temperature 0 and with retries."""

    stand_in = False

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        key: str | None = None,
        limiter: Limiter | None = None,
        patience: Patience = PATIENCE,
    ) -> None:
        """Opens a connection.

        Args:
            model: The model's name on that server.
            base_url: The URL up to and including `/v1`, or the provider's equivalent.
            key: Bearer token, if the server needs one.
            limiter: Rate limiter for all requests, including retries.
            patience: Timeouts and retries.
        """
        self.identity = f"{model}@{base_url.rstrip('/')}, temperature {TEMPERATURE}"
        self._model = model
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._patience = patience
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        hooks = {"request": [lambda _: limiter.wait()]} if limiter else {}
        self._client = httpx.Client(headers=headers, event_hooks=hooks)

    def reply(self, request: Request) -> Reply:
        """Answers one request."""
        return self._complete(answer_body(self._model, request)).reply

    def chat(
        self,
        messages: Sequence[Message],
        functions: Sequence[Function] = (),
        *,
        most_tokens: int = MOST_TOKENS,
    ) -> Reply:
        """Returns the next message of a chat."""
        found = self._complete(chat_body(self._model, messages, functions, most_tokens))
        calls = tuple(self._call(call) for call in found.message.tool_calls or ())
        return Reply(
            text=found.message.content or "",
            calls=calls,
            prompt_tokens=found.usage.prompt_tokens,
            completion_tokens=found.usage.completion_tokens,
        )

    def close(self) -> None:
        """Closes the connection."""
        self._client.close()

    def _complete(self, body: dict[str, Any]) -> Completion:
        response = post(self._client, self._url, body, self._patience)
        try:
            return Completion.model_validate_json(response.content)
        except ValidationError as error:
            raise RemoteError(
                f"{self._url} answered something else than a completion: {response.text[:200]!r}"
            ) from error

    def _call(self, call: _Call) -> Call:
        name, text = call.function.name, call.function.arguments or "{}"
        try:
            arguments = from_json(text)
        except ValueError:
            arguments = None
        if not isinstance(arguments, dict):
            raise RemoteError(
                f"{self._url} wants {name} called with {text[:200]!r}, which is no JSON object"
            )
        return Call(id=call.id, name=name, arguments=arguments)


def answer_body(model: str, request: Request) -> dict[str, Any]:
    """Returns the request body for answering a question."""
    messages = [Message(role="user", content=request.prompt)]
    return chat_body(model, messages, (), request.most_tokens)


def chat_body(
    model: str, messages: Sequence[Message], functions: Sequence[Function], most_tokens: int
) -> dict[str, Any]:
    """Returns the request body for continuing a chat."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [_message(message) for message in messages],
        "temperature": TEMPERATURE,
        "max_tokens": most_tokens,
    }
    if functions:
        body["tools"] = [_tool(function) for function in functions]
    return body


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


def _make(subject: str, options: NoOptions, access: Access) -> OpenAI:
    model, _, url = subject.partition("@")
    base = url or environment.chat_endpoint()
    wanted = access.key_variable or (KEY_VARIABLE if base.startswith("https://") else None)
    key = environment.api_key(wanted) if wanted else None
    return OpenAI(model, base_url=base, key=key, limiter=access.limiter)


BACKEND = BackendDeclaration(
    name="openai",
    summary="Any server with the OpenAI chat API: OpenAI, Gemini, DeepSeek, Ollama.",
    example="openai:llama3.1@http://localhost:11434/v1",
    options=NoOptions,
    make=_make,
    subject="MODEL[@BASE_URL]",
    chats=True,
)
