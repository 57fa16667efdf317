-- The same as in the file of keys, for several servers that share a database; and what they sign
-- forms, receipts and confirmations with.
CREATE TABLE tsim_access.about (
    version integer NOT NULL,
    secret bytea NOT NULL
);

CREATE TABLE tsim_access.key (
    id text COLLATE "C" PRIMARY KEY,
    namespace text,
    scopes text NOT NULL,
    label text NOT NULL,
    created double precision NOT NULL,
    expires double precision,
    revoked double precision,
    hash text NOT NULL
);

CREATE TABLE tsim_access.audit (
    number bigint PRIMARY KEY,
    at double precision NOT NULL,
    key text NOT NULL,
    action text NOT NULL,
    namespace text NOT NULL,
    about text NOT NULL,
    hash text NOT NULL
);

CREATE FUNCTION tsim_access.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0];
END
$$;

CREATE FUNCTION tsim_access.follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM tsim_access.audit) THEN
        RAISE EXCEPTION 'the audit log can only grow';
    END IF;
    RETURN NEW;
END
$$;

-- Written as the server describes them, with which they are compared.
CREATE TRIGGER audit_change BEFORE DELETE OR UPDATE OR TRUNCATE ON tsim_access.audit FOR EACH STATEMENT EXECUTE FUNCTION tsim_access.refuse('the audit log can only grow');

CREATE TRIGGER audit_insert BEFORE INSERT ON tsim_access.audit FOR EACH ROW EXECUTE FUNCTION tsim_access.follow();

CREATE TRIGGER key_delete BEFORE DELETE OR TRUNCATE ON tsim_access.key FOR EACH STATEMENT EXECUTE FUNCTION tsim_access.refuse('keys are revoked, not deleted');

CREATE TRIGGER key_update BEFORE UPDATE ON tsim_access.key FOR EACH ROW WHEN ((old.revoked IS NOT NULL)) EXECUTE FUNCTION tsim_access.refuse('the key is revoked');
