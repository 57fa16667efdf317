"""The cost of tokens. Prices change, so users provide them; there is no built-in table."""

from dataclasses import dataclass

from scaleqa.backends.protocol import Reply
from scaleqa.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million prompt and completion tokens."""

    prompt: float
    completion: float

    def of(self, reply: Reply) -> float:
        """Returns the cost of a reply's tokens, whether or not it came from the cache."""
        dollars = self.prompt * reply.prompt_tokens + self.completion * reply.completion_tokens
        return round(dollars / 1e6, 9)


def read_price(text: str) -> Price:
    """Parses `IN,OUT`, for example `0.15,0.60`.

    Raises:
        DataError: The text has another form.
    """
    try:
        prompt, completion = (float(part) for part in text.split(","))
    except ValueError:
        prompt = completion = -1.0
    if not (0 <= prompt < float("inf") and 0 <= completion < float("inf")):
        raise DataError(f"price {text!r} is not IN,OUT in US dollars per million tokens: 0.15,0.60")
    return Price(prompt=prompt, completion=completion)
