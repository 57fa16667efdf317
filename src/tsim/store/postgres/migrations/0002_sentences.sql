-- Vectors of the sentences of turns and passages that have several; the id is that of the turn. They
-- are only read with their thread.
CREATE TABLE tsim.sentence (
    namespace text COLLATE "C" NOT NULL,
    thread bigint NOT NULL,
    id bigint NOT NULL,
    start bigint NOT NULL,
    vector bytea NOT NULL,
    crc bigint NOT NULL,
    PRIMARY KEY (namespace, thread, id, start)
);
ALTER TABLE tsim.sentence ALTER vector SET STATISTICS 0;
ALTER TABLE tsim.sentence ENABLE ROW LEVEL SECURITY;
ALTER TABLE tsim.sentence FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON tsim.sentence
    USING (namespace = current_setting('tsim.namespace', true));
