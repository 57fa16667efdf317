"""Any server with the OpenAI chat API: OpenAI, Gemini, DeepSeek, Ollama by base URL."""

import httpx
from pydantic import BaseModel, ValidationError

from scaleqa.backends.protocol import Reply, Request
from tsim.errors import RemoteError
from tsim.http import Patience, post

PATIENCE = Patience(timeout=120.0, attempts=8)
MOST_TOKENS = 300


class _Message(BaseModel):
    content: str | None = None


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
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": request.prompt}],
            "temperature": 0,
            "max_tokens": MOST_TOKENS,
        }
        response = post(self._client, self._url, body, self._patience)
        try:
            found = _Completion.model_validate_json(response.content)
        except ValidationError as error:
            raise RemoteError(
                f"{self._url} answered something else than a completion: {response.text[:200]!r}"
            ) from error
        text = (found.choices[0].message.content or "") if found.choices else ""
        return Reply(
            text=text,
            prompt_tokens=found.usage.prompt_tokens,
            completion_tokens=found.usage.completion_tokens,
        )

    def close(self) -> None:
        """Closes the connection."""
        self._client.close()
