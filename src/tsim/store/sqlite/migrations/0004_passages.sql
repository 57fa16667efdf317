-- Vectors of the passages of long turns. The first passage has the vector of its turn; the others
-- are here, with the key of their turn. A passage begins at a character of the turn's text and ends
-- where the next one begins.
CREATE TABLE passage (
    key INTEGER NOT NULL,
    start INTEGER NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (key, start)
);
