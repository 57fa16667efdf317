"""When the raters of an item settle something."""

# One rating is an opinion, however large its share.
FEWEST = 2


def is_majority(votes: int, ratings: int) -> bool:
    """Returns whether so many votes are more than half of at least two ratings."""
    return ratings >= FEWEST and 2 * votes > ratings
