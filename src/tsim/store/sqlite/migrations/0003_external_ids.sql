-- What a turn is called where it comes from, and what was noted about it (JSON, names sorted). They
-- come after the text because they are read with it.
ALTER TABLE turn ADD COLUMN external TEXT;
ALTER TABLE turn ADD COLUMN meta TEXT;
CREATE UNIQUE INDEX turn_by_external ON turn (key >> 32, external) WHERE external IS NOT NULL;
