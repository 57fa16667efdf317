"""A model on this machine: any GGUF file, through llama.cpp.

A small model rambles when it is asked for a letter, so it is not asked: its reply is begun with
`ANSWER:`, and the letter is the one it thinks most likely to follow.

Each prompt is computed afresh. Going on from what two prompts share would save time, but quantised
kernels give slightly other numbers for other batches, and a reply would depend on the requests
before it.
"""

import threading
from collections.abc import Iterable, Sequence
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

from scaleqa.backends.protocol import MOST_TOKENS, Function, Message, Reply, Request, Said
from scaleqa.errors import DataError
from tsim.embed.runtime import machine_threads
from tsim.errors import ModelError, RemoteError

LETTERS = frozenset("ABCD")
PREFIX = "ANSWER:"
# How many of the most likely tokens are looked at.
LIKELIEST = 100
CONTEXT = 8192


class Gguf:
    """Answers with the likeliest letter; chats in text."""

    stand_in = False

    def __init__(
        self, name: str, path: Path, *, sha256: str, rationale: int = 0, context: int = CONTEXT
    ) -> None:
        """Gets ready; the file is loaded when the first request comes.

        Args:
            name: What the model is called.
            path: The file.
            sha256: Of the file.
            rationale: Most tokens of a rationale; none is written if 0.
            context: Most tokens of a prompt and what follows it.

        Raises:
            DataError: The runtime is not installed.
        """
        try:
            version = metadata.version("xllamacpp")
        except metadata.PackageNotFoundError:
            raise DataError(
                "a GGUF file needs xllamacpp; run: pip install 'scaleqa[local]'"
            ) from None
        self.identity = f"{name}@{sha256[:16]}, rationale {rationale}, xllamacpp {version}"
        self._name = name
        self._path = path
        self._rationale = rationale
        self._context = context
        # One request at a time: a rationale goes on from its own letter's state.
        self._lock = threading.Lock()

    def reply(self, request: Request) -> Reply:
        """Answers one request.

        Raises:
            RemoteError: The prompt does not fit.
        """
        asked = {"role": "user", "content": request.prompt}
        with self._lock:
            found = self._complete(
                [asked, {"role": "assistant", "content": PREFIX}],
                max_tokens=1,
                logprobs=True,
                top_logprobs=LIKELIEST,
            )
            likely = found["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
            letter = choose((token["token"], token["logprob"]) for token in likely)
            text, written = f"{PREFIX} {letter or 'none'}", 1
            if letter and self._rationale:
                begun = f"{text}\nRATIONALE:"
                more = self._complete(
                    [asked, {"role": "assistant", "content": begun}],
                    max_tokens=self._rationale,
                    stop=["\n"],
                    cache_prompt=True,
                )
                text = more["choices"][0]["message"]["content"].rstrip()
                written += more["usage"]["completion_tokens"]
        return Reply(
            text=text,
            prompt_tokens=found["usage"]["prompt_tokens"],
            completion_tokens=written,
        )

    def chat(
        self,
        messages: Sequence[Message],
        functions: Sequence[Function] = (),
        *,
        most_tokens: int = MOST_TOKENS,
    ) -> Said:
        """Says what comes next, greedily.

        Raises:
            DataError: Functions were offered; small models do not call them reliably.
            RemoteError: The messages do not fit.
        """
        if functions:
            raise DataError(f"gguf:{self._name} cannot call functions; use openai:MODEL")
        said = [{"role": message.role, "content": message.content} for message in messages]
        with self._lock:
            found = self._complete(said, max_tokens=most_tokens)
        return Said(
            text=found["choices"][0]["message"]["content"],
            prompt_tokens=found["usage"]["prompt_tokens"],
            completion_tokens=found["usage"]["completion_tokens"],
        )

    def close(self) -> None:
        """Frees the model."""
        self.__dict__.pop("_server", None)

    @cached_property
    def _server(self) -> Any:
        import xllamacpp  # an optional dependency, and slow to load

        params = xllamacpp.CommonParams()
        params.model.path = str(self._path)
        params.n_ctx = self._context
        params.n_parallel = 1
        params.cache_ram_mib = 0  # it would keep states of earlier prompts
        params.warmup = False
        params.verbosity = -1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = machine_threads()
        try:
            return xllamacpp.Server(params)
        except Exception as error:
            raise ModelError(
                f"{self._path} could not be loaded as a GGUF model: {error}"
            ) from error

    def _complete(self, messages: list[dict[str, str]], **settings: Any) -> dict[str, Any]:
        body = {"temperature": 0, "cache_prompt": False, "messages": messages, **settings}
        found: dict[str, Any] = self._server.handle_chat_completions(body)
        if "error" in found:
            raise RemoteError(
                f"gguf:{self._name} failed: {found['error']['message']}; longer prompts are "
                "allowed by gguf:NAME,context=TOKENS"
            )
        return found


def choose(likely: Iterable[tuple[str, float]]) -> str | None:
    """Returns the likeliest letter among tokens and their log-probabilities.

    A token counts with or without a space before the letter, the likelier of the two; of equally
    likely letters the first wins. None if there is no letter at all.
    """
    best: dict[str, float] = {}
    for token, logprob in likely:
        letter = token.strip()
        if letter in LETTERS:
            best[letter] = max(logprob, best.get(letter, logprob))
    return max(sorted(best), key=lambda letter: best[letter], default=None)
