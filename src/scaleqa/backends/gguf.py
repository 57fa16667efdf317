"""Local models: any GGUF file, through llama.cpp.

Small models often ramble when asked for a letter. The reply is therefore started with `ANSWER:`,
and the answer is the option letter that the model considers most likely to come next. A question
without options is answered in the model's own words.

Every prompt is computed from scratch. Reusing the prefix shared with the previous prompt would save
time, but quantised kernels give slightly different numbers for different batches, so a reply would
depend on earlier requests. `reuse` does so all the same, for programs that send the same long
instructions with every request, which could not be run otherwise.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from scaleqa.backends.declaration import Access, BackendDeclaration
from scaleqa.backends.models import FILE, find_model
from scaleqa.backends.protocol import MOST_TOKENS, Function, Message, Reply, Request
from scaleqa.errors import DataError
from tsim import environment, weights
from tsim.embed import machine_threads
from tsim.errors import ModelError, RemoteError

PREFIX = "ANSWER:"
# Number of most likely tokens that are considered.
LIKELIEST = 100
CONTEXT = 8192
# Of RAM, for the states of earlier prompts that are reused: a program has several instructions.
KEPT_MIB = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufOptions:
    """How long prompts and rationales may be, and how they are computed."""

    rationale: Annotated[
        int, Field(ge=0, description="Maximum tokens of a rationale; 0: none.")
    ] = 0
    context: Annotated[
        int, Field(ge=1, description="Maximum tokens of a prompt and its reply.")
    ] = CONTEXT
    reuse: Annotated[
        bool,
        Field(
            description="Do not compute again how a prompt begins that begins as an earlier one; "
            "replies then depend a little on earlier requests."
        ),
    ] = False
    threads: Annotated[
        int,
        Field(
            ge=0,
            description="Threads that compute; 0: one for each core. They wait for each other, so "
            "that fewer are faster on cores that others use, too.",
        ),
    ] = 0


class Gguf:
    """Answers with the most likely letter; chats in text."""

    stand_in = False

    def __init__(self, name: str, path: Path, options: GgufOptions, *, sha256: str) -> None:
        """Prepares the model; the file is loaded at the first request.

        Args:
            name: The name of the model.
            path: The file.
            options: How long prompts and rationales may be, and how they are computed.
            sha256: The hash of the file.

        Raises:
            DataError: The runtime is not installed.
        """
        try:
            version = metadata.version("xllamacpp")
        except metadata.PackageNotFoundError:
            raise DataError(
                "a GGUF file needs xllamacpp; run: pip install 'scaleqa[local]'"
            ) from None
        reuse = ", reuse" if options.reuse else ""
        self.identity = (
            f"{name}@{sha256[:16]}, rationale {options.rationale}{reuse}, xllamacpp {version}"
        )
        self._name = name
        self._path = path
        self._rationale = options.rationale
        self._context = options.context
        self._reuse = options.reuse
        self._threads = options.threads or machine_threads()
        # One request at a time: a rationale continues from the state of its own answer.
        self._lock = threading.Lock()

    def reply(self, request: Request) -> Reply:
        """Answers one request.

        Raises:
            RemoteError: The prompt does not fit.
        """
        if not request.options:
            said = Message(role="user", content=request.prompt)
            return self.chat([said], most_tokens=request.most_tokens)
        asked = {"role": "user", "content": request.prompt}
        with self._lock:
            found = self._complete(
                [asked, {"role": "assistant", "content": PREFIX}],
                max_tokens=1,
                logprobs=True,
                top_logprobs=LIKELIEST,
            )
            likely = found["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
            letter = choose([(one["token"], one["logprob"]) for one in likely], request.options)
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
        response_format: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Returns the next message, decoded greedily, within the form if there is one.

        Raises:
            DataError: Functions were offered; small models do not call them reliably.
            RemoteError: The messages do not fit.
        """
        if functions:
            raise DataError(f"gguf:{self._name} cannot call functions; use openai:MODEL")
        said = [{"role": message.role, "content": message.content} for message in messages]
        form = {"response_format": dict(response_format)} if response_format else {}
        with self._lock:
            found = self._complete(said, max_tokens=most_tokens, **form)
        return Reply(
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
        # Otherwise states of earlier prompts are kept, too.
        params.cache_ram_mib = KEPT_MIB if self._reuse else 0
        # Attention over a window forgets the beginning of a prompt, which could not be reused.
        params.swa_full = self._reuse
        params.warmup = False
        params.verbosity = -1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = self._threads
        try:
            return xllamacpp.Server(params)
        except Exception as error:
            raise ModelError(
                f"{self._path} could not be loaded as a GGUF model: {error}"
            ) from error

    def _complete(self, messages: list[dict[str, str]], **settings: Any) -> dict[str, Any]:
        body = {"temperature": 0, "cache_prompt": self._reuse, "messages": messages, **settings}
        found: dict[str, Any] = self._server.handle_chat_completions(body)
        if "error" in found:
            raise RemoteError(
                f"gguf:{self._name} failed: {found['error']['message']}; allow longer "
                "prompts with gguf:NAME,context=TOKENS"
            )
        return found


def choose(likely: Iterable[tuple[str, float]], letters: Iterable[str]) -> str | None:
    """Returns the most likely of some letters, given tokens and their log-probabilities.

    A letter counts with or without a space before it, whichever is more likely. Ties are won by the
    first letter. Returns None if no token is a letter.
    """
    best: dict[str, float] = {}
    known = {*letters}
    for token, logprob in likely:
        letter = token.strip()
        if letter in known:
            best[letter] = max(logprob, best.get(letter, logprob))
    return max(sorted(best), key=lambda letter: best[letter], default=None)


def _make(subject: str, options: GgufOptions, access: Access) -> Gguf:
    path = Path(subject).expanduser()
    if path.is_file():
        return Gguf(path.stem, path, options, sha256=weights.sha256_of(path))
    known = find_model(subject)
    path = weights.require(environment.cache_dir(), known) / FILE
    return Gguf(known.name, path, options, sha256=known.files[0].sha256)


BACKEND = BackendDeclaration(
    name="gguf",
    summary="A local model from a GGUF file, by name or path.",
    example="gguf:smollm2-135m,context=2048",
    options=GgufOptions,
    make=_make,
    subject="NAME_OR_PATH",
    chats=True,
)
