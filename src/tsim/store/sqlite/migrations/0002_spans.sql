-- Vectors of runs of turns. The key is that of the last turn, so that the newest spans of a thread
-- are one range. Rows are kept outside the index, because vectors would fill its pages.
CREATE TABLE span (
    key INTEGER NOT NULL,
    first INTEGER NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (key, first)
);
