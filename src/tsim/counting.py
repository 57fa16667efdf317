"""Opens what budgets are measured by: a name, a tokenizer file, a tiktoken encoding, a function."""

import importlib
import os
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from tsim.errors import InputError
from tsim.tokens import ESTIMATE, WORDS, Count, Measure, counted

# What `tokens=` accepts.
Tokens: TypeAlias = str | os.PathLike[str] | Count

NAMED = {measure.name: measure for measure in (ESTIMATE, WORDS)}
TIKTOKEN = "tiktoken:"
CHOICES = (
    "use 'estimate', 'words', 'tiktoken:NAME', the path of a Hugging Face tokenizer.json, or a "
    "function from text to the number of tokens"
)


def open_measure(tokens: Tokens) -> Measure:
    """Returns what a budget is measured by.

    Args:
        tokens: `"estimate"`: an estimate for any script. `"words"`: 1.3 × whitespace-separated
            words. A path: a `tokenizer.json` as Hugging Face writes it. `"tiktoken:NAME"`: an
            encoding or model of tiktoken, if that is installed. A function: counts tokens.

    Raises:
        InputError: It is none of these, or cannot be read.
    """
    if isinstance(tokens, str):
        if tokens in NAMED:
            return NAMED[tokens]
        if tokens.startswith(TIKTOKEN):
            return _tiktoken(tokens.removeprefix(TIKTOKEN))
    if isinstance(tokens, str | os.PathLike):
        path = Path(tokens)
        if not path.is_file():
            raise InputError(
                f"tokens={str(tokens)!r:.200} is no known counter and no file; {CHOICES}"
            )
        return _tokenizer(path.resolve(), path.stat().st_mtime_ns)
    if callable(tokens):
        return counted(getattr(tokens, "__name__", type(tokens).__name__), tokens)
    raise InputError(f"tokens={tokens!r:.80} cannot count tokens; {CHOICES}")


@lru_cache(maxsize=4)
def _tokenizer(path: Path, written: int) -> Measure:
    """Reads a tokenizer file; again only if it was written since."""
    from tokenizers import Tokenizer  # takes a while to load

    try:
        tokenizer = Tokenizer.from_str(path.read_text("utf-8"))
    except Exception as error:  # the library raises bare exceptions
        raise InputError(
            f"{path} is not a tokenizer file: {error}; pass the tokenizer.json of a model"
        ) from error
    # Files of embedding models cut and pad texts to what the model reads.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return counted(path.name, lambda text: len(tokenizer.encode(text, add_special_tokens=False)))


@lru_cache(maxsize=4)
def _tiktoken(name: str) -> Measure:
    try:
        library: Any = importlib.import_module("tiktoken")
    except ImportError:
        raise InputError(
            f"tokens='{TIKTOKEN}{name}' needs tiktoken, which is not installed; pip install "
            "tiktoken, or choose another counter"
        ) from None
    try:
        known = name in library.list_encoding_names()
        encoding = library.get_encoding(name) if known else library.encoding_for_model(name)
    except KeyError:
        raise InputError(
            f"tiktoken has no encoding or model {name!r:.80}; it has "
            f"{', '.join(library.list_encoding_names())}"
        ) from None
    except OSError as error:  # it fetches an encoding when that is first used
        raise InputError(
            f"tiktoken could not fetch {name!r:.80}: {error!s:.200}; use it once with a "
            "connection, or choose another counter"
        ) from error
    return counted(f"{TIKTOKEN}{name}", lambda text: len(encoding.encode_ordinary(text)))
