-- Every row says which namespace it belongs to, and is only seen, and only written, by transactions
-- that have said so too: see the policies at the end. Names are compared byte by byte ("C").

CREATE TABLE tsim.memory (
    namespace text COLLATE "C" PRIMARY KEY,
    settings jsonb NOT NULL DEFAULT '{}',
    -- Which removal may still be recoverable from the files of the tables; null if none.
    scrub bigint
);

-- Versions are random numbers that writers choose, so that none is given twice, even by a server
-- that has taken over from another one and does not have its latest transactions. The former ones,
-- latest first, tell a writer that lost its connection whether its change was written.
CREATE TABLE tsim.thread (
    namespace text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    version bigint NOT NULL,
    epoch bigint NOT NULL,
    former bigint[] NOT NULL,
    next_turn bigint NOT NULL,
    next_episode bigint NOT NULL,
    next_cluster bigint NOT NULL,
    crc bigint NOT NULL,
    PRIMARY KEY (namespace, name)
);

-- Turns and their passages are searched by their vectors, exactly: there is no approximate index.
CREATE TABLE tsim.turn (
    namespace text COLLATE "C" NOT NULL,
    thread bigint NOT NULL,
    id bigint NOT NULL,
    episode bigint NOT NULL,
    role text NOT NULL,
    at double precision,
    vector vector NOT NULL,
    text text NOT NULL,
    external text COLLATE "C",
    meta text,
    crc bigint NOT NULL,
    vector_crc bigint NOT NULL,
    PRIMARY KEY (namespace, thread, id)
);
CREATE INDEX turn_by_episode ON tsim.turn (namespace, thread, episode);
CREATE UNIQUE INDEX turn_by_external ON tsim.turn (namespace, thread, external)
    WHERE external IS NOT NULL;

-- The id of a passage is that of its turn.
CREATE TABLE tsim.passage (
    namespace text COLLATE "C" NOT NULL,
    thread bigint NOT NULL,
    id bigint NOT NULL,
    start bigint NOT NULL,
    vector vector NOT NULL,
    crc bigint NOT NULL,
    PRIMARY KEY (namespace, thread, id, start)
);

CREATE TABLE tsim.episode (
    namespace text COLLATE "C" NOT NULL,
    thread bigint NOT NULL,
    id bigint NOT NULL,
    vector bytea,
    crc bigint NOT NULL,
    PRIMARY KEY (namespace, thread, id)
);

CREATE TABLE tsim.cluster (
    namespace text COLLATE "C" NOT NULL,
    thread bigint NOT NULL,
    id bigint NOT NULL,
    total bytea NOT NULL,
    vector bytea NOT NULL,
    crc bigint NOT NULL,
    PRIMARY KEY (namespace, thread, id)
);

-- The id of a membership is that of its cluster.
CREATE TABLE tsim.member (
    namespace text COLLATE "C" NOT NULL,
    thread bigint NOT NULL,
    id bigint NOT NULL,
    episode bigint NOT NULL,
    crc bigint NOT NULL,
    PRIMARY KEY (namespace, thread, id, episode)
);

-- The id of a span is that of its last turn, so that the newest spans of a thread are one range.
CREATE TABLE tsim.span (
    namespace text COLLATE "C" NOT NULL,
    thread bigint NOT NULL,
    id bigint NOT NULL,
    first bigint NOT NULL,
    vector bytea NOT NULL,
    crc bigint NOT NULL,
    PRIMARY KEY (namespace, thread, id, first)
);

-- Writers that ask the others to let them go first, in order. They have the number of their thread,
-- or 0 for all threads, and keep their place until a time (seconds since the epoch).
CREATE TABLE tsim.line (
    ticket bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace text COLLATE "C" NOT NULL,
    thread bigint NOT NULL,
    until double precision NOT NULL
);
CREATE INDEX line_by_namespace ON tsim.line (namespace);

-- Samples of columns that the planner keeps would outlive what is forgotten.
ALTER TABLE tsim.thread ALTER name SET STATISTICS 0;
ALTER TABLE tsim.turn ALTER role SET STATISTICS 0, ALTER vector SET STATISTICS 0,
    ALTER text SET STATISTICS 0, ALTER external SET STATISTICS 0, ALTER meta SET STATISTICS 0;
ALTER TABLE tsim.passage ALTER vector SET STATISTICS 0;
ALTER TABLE tsim.episode ALTER vector SET STATISTICS 0;
ALTER TABLE tsim.cluster ALTER total SET STATISTICS 0, ALTER vector SET STATISTICS 0;
ALTER TABLE tsim.span ALTER vector SET STATISTICS 0;

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'memory', 'thread', 'turn', 'passage', 'episode', 'cluster', 'member', 'span', 'line'
    ] LOOP
        EXECUTE format('ALTER TABLE tsim.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE tsim.%I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY own ON tsim.%I '
            'USING (namespace = current_setting(''tsim.namespace'', true))',
            name
        );
    END LOOP;
END
$$;
-- Whoever says * sees which namespaces there are, and nothing in them.
CREATE POLICY listed ON tsim.memory FOR SELECT
    USING (current_setting('tsim.namespace', true) = '*');
