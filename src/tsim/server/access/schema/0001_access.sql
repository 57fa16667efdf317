-- Keys, of which only hashes are kept. Times are seconds since the epoch.
CREATE TABLE key (
    id TEXT PRIMARY KEY,
    namespace TEXT,
    scopes TEXT NOT NULL,
    label TEXT NOT NULL,
    created REAL NOT NULL,
    expires REAL,
    revoked REAL,
    hash TEXT NOT NULL
) WITHOUT ROWID;

-- What was done. `hash` is over the hash of the line before and the other columns.
CREATE TABLE audit (
    number INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    key TEXT NOT NULL,
    action TEXT NOT NULL,
    namespace TEXT NOT NULL,
    about TEXT NOT NULL,
    hash TEXT NOT NULL
);

CREATE TRIGGER audit_update BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit log can only grow');
END;

CREATE TRIGGER audit_delete BEFORE DELETE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit log can only grow');
END;

-- REPLACE would delete a line without asking the trigger above.
CREATE TRIGGER audit_insert BEFORE INSERT ON audit
WHEN NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM audit)
BEGIN
    SELECT RAISE(ABORT, 'the audit log can only grow');
END;

-- A key that was revoked stays revoked, and known.
CREATE TRIGGER key_update BEFORE UPDATE ON key
WHEN OLD.revoked IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'the key is revoked');
END;

CREATE TRIGGER key_delete BEFORE DELETE ON key
BEGIN
    SELECT RAISE(ABORT, 'keys are revoked, not deleted');
END;
