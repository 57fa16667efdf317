"""Servers with the OpenAI chat API, such as OpenAI, Gemini, DeepSeek and Ollama."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import httpx
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from scaleqa.backends.declaration import Access, BackendDeclaration
from scaleqa.backends.limit import Pace
from scaleqa.backends.protocol import MOST_TOKENS, Call, Function, Message, Reply, Request
from scaleqa.backends.stop import Stop
from scaleqa.options import NoOptions
from tsim import environment
from tsim.credentials import authorization
from tsim.errors import RemoteError
from tsim.http import Patience, post, public_url

KEY_VARIABLE = "OPENAI_API_KEY"
PATIENCE = Patience(timeout=120.0, attempts=8)
TEMPERATURE = 0
# How often a server may say nothing before that is a failure.
SILENCES = 3


class _Function(BaseModel):
    name: str
    arguments: str | None = None


class _Call(BaseModel):
    id: str = ""
    function: _Function


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(BaseModel):
    message: _Message | None = None
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Completion(BaseModel):
    """The fields of a chat completion that are used."""

    choices: list[_Choice]
    usage: _Usage | None = None

    @property
    def message(self) -> _Message:
        """The message of the first choice, or an empty one if there is none."""
        return next((choice.message for choice in self.choices if choice.message), _Message())

    @property
    def silent(self) -> bool:
        """Whether nothing was said and nothing called: a failure, and no answer."""
        return not self.text.strip() and not self.message.tool_calls

    @property
    def text(self) -> str:
        """What was said; a refusal is an answer, too."""
        return self.message.content or self.message.refusal or ""

    @property
    def reason(self) -> str:
        """Why the server stopped, in brackets; empty if it does not say."""
        found = next((one.finish_reason for one in self.choices if one.finish_reason), None)
        return f" (finish_reason {found!r:.40})" if found else ""

    @property
    def reply(self) -> Reply:
        """The completion as a `Reply`, without calls."""
        usage = self.usage or _Usage()
        return Reply(
            text=self.text,
            prompt_tokens=usage.prompt_tokens or 0,
            completion_tokens=usage.completion_tokens or 0,
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
        limiter: Pace | None = None,
        patience: Patience = PATIENCE,
        stop: Stop | None = None,
    ) -> None:
        """Opens a connection.

        Args:
            model: The model's name on that server.
            base_url: The URL up to and including `/v1`, or the provider's equivalent.
            key: Bearer token, if the server needs one.
            limiter: Rate limiter for all requests, including retries.
            patience: Timeouts and retries.
            stop: Once it is set, nothing more is sent.

        Raises:
            InputError: The URL or the key cannot be one.
        """
        self.identity = f"{model}@{public_url(base_url)}, temperature {TEMPERATURE}"
        self._model = model
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._shown = public_url(self._url)
        self._patience = patience
        first = [limiter.wait] if limiter else []
        last = [stop.check] if stop else []
        hooks = {"request": [lambda _, do=do: do() for do in (*first, *last)]}
        self._client = httpx.Client(headers=authorization(key), event_hooks=hooks)

    def reply(self, request: Request) -> Reply:
        """Answers one request."""
        return self._complete(answer_body(self._model, request)).reply

    def chat(
        self,
        messages: Sequence[Message],
        functions: Sequence[Function] = (),
        *,
        most_tokens: int = MOST_TOKENS,
        response_format: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Returns the next message of a chat."""
        body = chat_body(self._model, messages, functions, most_tokens)
        if response_format:
            body["response_format"] = dict(response_format)
        found = self._complete(body)
        calls = tuple(self._call(call) for call in found.message.tool_calls or ())
        return replace(found.reply, calls=calls)

    def close(self) -> None:
        """Closes the connection."""
        self._client.close()

    def _complete(self, body: dict[str, Any]) -> Completion:
        """Asks until something is said; silence may be an overload, and is no answer."""
        for attempt in range(SILENCES):
            if attempt:
                self._patience.wait(attempt - 1, None)
            response = post(self._client, self._url, body, self._patience)
            try:
                found = Completion.model_validate_json(response.content)
            except ValidationError:
                raise RemoteError(
                    f"{self._shown} answered something else than a completion: "
                    f"{response.text[:200]!r}"
                ) from None
            if not found.silent:
                return found
        raise RemoteError(
            f"{self._shown} answered {SILENCES} times without saying anything{found.reason}; the "
            f"model may need more than {body['max_tokens']} tokens to think, or refuse to answer: "
            "choose another, or try again later"
        )

    def _call(self, call: _Call) -> Call:
        name, text = call.function.name, call.function.arguments or "{}"
        try:
            arguments = from_json(text)
        except ValueError:
            arguments = None
        if not isinstance(arguments, dict):
            raise RemoteError(
                f"{self._shown} wants {name:.80} called with {text[:200]!r}, which is no JSON "
                "object"
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
    patience = replace(PATIENCE, sleep=access.stop.sleep)
    return OpenAI(
        model,
        base_url=base,
        key=key,
        limiter=access.limiter,
        patience=patience,
        stop=access.stop,
    )


BACKEND = BackendDeclaration(
    name="openai",
    summary="Any server with the OpenAI chat API: OpenAI, Gemini, DeepSeek, Ollama.",
    example="openai:llama3.1@http://localhost:11434/v1",
    options=NoOptions,
    make=_make,
    subject="MODEL[@BASE_URL]",
    chats=True,
)
