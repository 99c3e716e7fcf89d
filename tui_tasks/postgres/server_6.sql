-- `append_next` appends in one message, without `lock_head` before it. It waits for nobody.

-- Append as `append` does, if the journal and the companions end where the client has seen them end, and no other has the
-- lock. Return the server's time, or NULL: nothing was written, and the client decides again with the lock.
CREATE FUNCTION tui_tasks.append_next(
    expected_seq bigint, expected_hash bytea, expected_number bigint, schema_ integer, seqs bigint[], ats bigint[],
    actors text[], kinds text[], entities text[], uids text[], tasks text[], changes bigint[], undoes bigint[],
    olds text[], news text[], images text[], whys text[], hashes bytea[], now_ bigint, passed_ bigint, c_kinds text[],
    c_keys text[], c_values text[]
) RETURNS bigint LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    held tui_tasks.head;
    time_ bigint;
BEGIN
    -- Without an error, which would bring the entries into the server's log.
    SELECT * INTO held FROM tui_tasks.head
    WHERE seq = expected_seq AND hash = expected_hash AND number = expected_number FOR UPDATE SKIP LOCKED;
    IF NOT FOUND OR EXISTS (SELECT FROM tui_tasks.about WHERE journal > schema_) THEN
        RETURN NULL;
    END IF;
    -- The client reckons its time from an earlier answer; either clock may have jumped since.
    time_ := greatest(held.now, tui_tasks.clock());
    IF now_ NOT BETWEEN time_ - 1000000 AND time_ THEN
        RETURN NULL;
    END IF;
    PERFORM tui_tasks.append(expected_seq, expected_hash, seqs, ats, actors, kinds, entities, uids, tasks, changes,
        undoes, olds, news, images, whys, hashes, now_, passed_, c_kinds, c_keys, c_values);
    RETURN time_;
END $$;

REVOKE ALL ON FUNCTION tui_tasks.append_next(
    bigint, bytea, bigint, integer, bigint[], bigint[], text[], text[], text[], text[], text[], bigint[], bigint[], text[],
    text[], text[], text[], bytea[], bigint, bigint, text[], text[], text[]) FROM PUBLIC;
-- Whoever may append may do so this way too.
DO $$
DECLARE
    role regrole;
BEGIN
    FOR role IN
        SELECT held.grantee FROM pg_proc, aclexplode(proacl) AS held
        WHERE pronamespace = 'tui_tasks'::regnamespace AND proname = 'append' AND held.grantee <> proowner
            AND held.grantee <> 0
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION tui_tasks.append_next TO %s', role);
    END LOOP;
END $$;
