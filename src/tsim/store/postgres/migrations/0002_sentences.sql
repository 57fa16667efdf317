-- Vectors of the sentences of turns and passages that have several; the id is that of the turn. They
-- are only read with their thread.
CREATE TABLE tsim.sentence (
    namespace text COLLATE "C" NOT NULL,
    thread bigint NOT NULL,
    id bigint NOT NULL,
    start bigint NOT NULL,
    vector bytea NOT NULL,
    crc bigint NOT NULL,
    PRIMARY KEY (namespace, thread, id, start),
    -- Earlier versions that are still running do not know of sentences when they remove turns.
    FOREIGN KEY (namespace, thread, id) REFERENCES tsim.turn ON DELETE CASCADE
);
ALTER TABLE tsim.sentence ALTER vector SET STATISTICS 0;
ALTER TABLE tsim.sentence ENABLE ROW LEVEL SECURITY;
ALTER TABLE tsim.sentence FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON tsim.sentence
    USING (namespace = current_setting('tsim.namespace', true));

-- Whoever may use the other tables may use this one.
DO $$
DECLARE
    given record;
BEGIN
    FOR given IN
        SELECT privilege_type AS what, grantee FROM information_schema.role_table_grants
        WHERE table_schema = 'tsim' AND table_name = 'passage' AND grantee <> current_user
    LOOP
        EXECUTE format(
            'GRANT %s ON tsim.sentence TO %s', given.what,
            CASE given.grantee WHEN 'PUBLIC' THEN 'PUBLIC' ELSE quote_ident(given.grantee) END
        );
    END LOOP;
END
$$;
