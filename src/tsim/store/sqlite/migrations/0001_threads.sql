-- Keys of rows that belong to a thread are thread * 2^32 + id: one range of the table a thread,
-- in order, without a second index.

CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- One counter for the whole file: a version is never given twice, not even to a thread that was
-- removed and made again.
CREATE TABLE clock (
    now INTEGER NOT NULL
);
INSERT INTO clock VALUES (0);

CREATE TABLE thread (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    next_turn INTEGER NOT NULL,
    next_episode INTEGER NOT NULL,
    next_cluster INTEGER NOT NULL
);

-- The text comes last: reading vectors does not touch the pages of long texts.
CREATE TABLE turn (
    key INTEGER PRIMARY KEY,
    episode INTEGER NOT NULL,
    role TEXT NOT NULL,
    at REAL,
    vector BLOB NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX turn_by_episode ON turn (key >> 32, episode);

CREATE TABLE episode (
    key INTEGER PRIMARY KEY,
    vector BLOB
);

CREATE TABLE cluster (
    key INTEGER PRIMARY KEY,
    total BLOB NOT NULL,
    vector BLOB NOT NULL
);

CREATE TABLE member (
    cluster INTEGER NOT NULL,
    episode INTEGER NOT NULL,
    PRIMARY KEY (cluster, episode)
) WITHOUT ROWID;
