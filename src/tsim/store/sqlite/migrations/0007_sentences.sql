-- Vectors of the sentences of turns and passages that have several, with the key of their turn. A
-- sentence begins at a character of the turn's text. Turns of before have none.
CREATE TABLE sentence (
    key INTEGER NOT NULL,
    start INTEGER NOT NULL,
    vector BLOB NOT NULL,
    crc INTEGER NOT NULL,
    UNIQUE (key, start)
);
-- Earlier versions that have the file open do not know of sentences when they remove turns.
CREATE TRIGGER sentence_of_turn AFTER DELETE ON turn BEGIN
    DELETE FROM sentence WHERE key = old.key;
END;
