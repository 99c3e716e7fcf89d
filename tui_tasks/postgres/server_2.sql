-- lock_head also gives what a client lacks, if that is little: while it is sent, a client that is stopped holds the lock.

-- Who waits for a row may be overtaken by who comes later; who waits for a table may not. Nobody is granted anything on it.
CREATE TABLE tui_tasks.turn ();

CREATE FUNCTION tui_tasks.lock_and_read(seq_ bigint DEFAULT NULL, number_ bigint DEFAULT NULL, most_ integer DEFAULT 0)
RETURNS TABLE (
    seq bigint, hash bytea, passed bigint, now bigint, number bigint, journal integer, needs text,
    entries text, companions text
) LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    setting text;
    held tui_tasks.head;
    found_entries text;
    found_companions text;
BEGIN
    PERFORM tui_tasks.speaker();
    -- A client that is stopped with the lock, or waits for it, holds up nobody for longer than two seconds.
    FOREACH setting IN ARRAY ARRAY['idle_in_transaction_session_timeout', 'lock_timeout'] LOOP
        IF current_setting(setting) <> '2s' AND current_setting(setting)::interval NOT BETWEEN '1 ms' AND '2 s' THEN
            PERFORM set_config(setting, '2s', false);
        END IF;
    END LOOP;
    LOCK TABLE tui_tasks.turn IN EXCLUSIVE MODE;
    SELECT * INTO held FROM tui_tasks.head FOR UPDATE;
    IF held.seq > seq_ AND held.seq - seq_ <= most_ THEN
        SELECT json_agg(json_build_array(seq, at, actor, kind, entity, uid, task, change, undoes, old, new, image, why,
            encode(hash, 'hex')) ORDER BY seq) INTO found_entries
        FROM tui_tasks.journal WHERE seq > seq_;
    END IF;
    IF held.number > number_ THEN
        SELECT json_agg(json_build_array(kind, key, value, number) ORDER BY number) INTO found_companions
        FROM tui_tasks.companion WHERE number > number_;
    END IF;
    IF octet_length(coalesce(found_entries, '')) + octet_length(coalesce(found_companions, '')) > 100000 THEN
        found_entries := NULL;
        found_companions := NULL;
    END IF;
    RETURN QUERY SELECT held.seq, held.hash, held.passed, greatest(held.now, tui_tasks.clock()), held.number,
        a.journal, a.needs, found_entries, found_companions FROM tui_tasks.about a;
END $$;

REVOKE ALL ON FUNCTION tui_tasks.lock_and_read(bigint, bigint, integer) FROM PUBLIC;
-- Whoever may lock may do so as before.
DO $$
DECLARE
    role regrole;
BEGIN
    FOR role IN
        SELECT held.grantee FROM pg_proc, aclexplode(proacl) AS held
        WHERE oid = 'tui_tasks.lock_head()'::regprocedure AND held.grantee <> proowner AND held.grantee <> 0
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION tui_tasks.lock_and_read(bigint, bigint, integer) TO %s', role);
    END LOOP;
END $$;
DROP FUNCTION tui_tasks.lock_head();
ALTER FUNCTION tui_tasks.lock_and_read(bigint, bigint, integer) RENAME TO lock_head;
