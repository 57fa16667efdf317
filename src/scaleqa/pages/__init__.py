"""One table type, drawings, pages made of both, and what writes them."""
