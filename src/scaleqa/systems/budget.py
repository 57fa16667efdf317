"""Holding systems to the same length of context, each in its own words."""

# What systems call the length of their contexts.
LIMITS = {
    "full_context": "cap",
    "hipporag": "cap",
    "hybrid_rrf": "cap",
    "packed_turns": "budget",
    "raptor": "budget",
    "tsim_official": "budget",
    "tsim": "budget",
    "tuned_hybrid": "cap",
}


def with_budget(spec: str, budget: int) -> str:
    """Gives a system a budget of context tokens, if it takes one and none is written."""
    name, colon, options = spec.partition(":")
    limit = LIMITS.get(name)
    if limit is None or any(part.startswith(f"{limit}=") for part in options.split(",")):
        return spec
    return f"{spec}{',' if options else '' if colon else ':'}{limit}={budget}"
