-- A team's server: the journal in its order, and what must not part from it. Version 1 of these tables.
-- Nothing is granted to anybody here; `tui-tasks admin roles` prints the grants of a monitor, an agent and a human.
-- Whoever writes does so through the two functions `lock_head` and `append`, which run as the owner.

CREATE TABLE tui_tasks.about (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    id text NOT NULL,           -- of this server's journal
    schema integer NOT NULL,    -- the version of these tables
    journal integer NOT NULL,   -- the version of what entries may hold (core's SCHEMA)
    needs text NOT NULL         -- the program's version that knows both
);

-- The lock of all who write is this row.
CREATE TABLE tui_tasks.head (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    seq bigint NOT NULL DEFAULT 0,
    hash bytea NOT NULL DEFAULT '',
    passed bigint NOT NULL DEFAULT 0,   -- microseconds that really passed, by which leases end
    now bigint NOT NULL DEFAULT 0,      -- the latest time of day that was given, in microseconds; never decreasing
    number bigint NOT NULL DEFAULT 0,   -- of the newest companion
    clock bigint NOT NULL DEFAULT 0     -- this server's clock at the last append
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
INSERT INTO tui_tasks.head DEFAULT VALUES;

CREATE TABLE tui_tasks.journal (
    seq bigint PRIMARY KEY, at bigint NOT NULL, actor text NOT NULL, kind text NOT NULL, entity text NOT NULL,
    uid text NOT NULL, task text, change bigint NOT NULL, undoes bigint, old text, new text, image text, why text,
    hash bytea NOT NULL
) WITH (autovacuum_analyze_scale_factor = 0.02);

-- Rows of a replica that change together with entries. `value` is NULL once the row was deleted.
CREATE TABLE tui_tasks.companion (
    kind text NOT NULL, key text NOT NULL, value text, number bigint NOT NULL, PRIMARY KEY (kind, key)
) WITH (autovacuum_analyze_scale_factor = 0.02);
CREATE UNIQUE INDEX companion_number ON tui_tasks.companion (number);

-- A replica's file, compressed, in chunks: where a new replica begins.
CREATE TABLE tui_tasks.snapshot (
    seq bigint NOT NULL, hash bytea NOT NULL, number bigint NOT NULL, passed bigint NOT NULL, chunk integer NOT NULL,
    chunks integer NOT NULL, data bytea NOT NULL, at bigint NOT NULL, PRIMARY KEY (seq, chunk)
);
ALTER TABLE tui_tasks.snapshot ALTER COLUMN data SET STORAGE EXTERNAL;

-- Which login role writes as whom. `agent`: the name of an agent, or the beginning of names before a `*`.
CREATE TABLE tui_tasks.member (
    role name PRIMARY KEY,
    may text NOT NULL CHECK (may IN ('human', 'agent')),
    agent text CHECK ((agent IS NOT NULL) = (may = 'agent'))
);

-- The kinds of entries that an agent's role may append; `by`: as the agent itself, or as the actor `system` by what an
-- agent's request has for consequence. All others are the human's.
CREATE TABLE tui_tasks.agent_kind (
    by text NOT NULL CHECK (by IN ('itself', 'system')), kind text NOT NULL, PRIMARY KEY (by, kind)
);
INSERT INTO tui_tasks.agent_kind (by, kind)
SELECT 'itself', unnest(ARRAY[
    'task.created', 'task.updated', 'task.moved', 'task.deleted', 'task.restored', 'task.logged', 'task.linked',
    'state.saved', 'memory.saved', 'list.created', 'list.updated', 'list.deleted', 'list.restored',
    'claim.taken', 'claim.extended', 'claim.released', 'claim.finished', 'claim.lapsed', 'claim.restored',
    'ask.opened', 'ask.withdrawn', 'ask.timeout', 'message.delivered', 'message.returned', 'agent.refused',
    'check.requested', 'check.queued', 'work.ready', 'work.updated',
    'job.created', 'job.updated', 'job.deleted', 'job.restored', 'job.decided', 'job.advanced', 'job.pruned',
    'run.requested', 'run.started', 'run.finished',
    'session.started', 'session.prompted', 'session.waiting', 'session.idle', 'session.failed',
    'session.interrupted', 'session.ended', 'tool.failed'])
UNION ALL
SELECT 'system', unnest(ARRAY[
    'task.updated', 'claim.lapsed', 'ask.timeout', 'ask.withdrawn', 'list.reranked', 'message.delivered',
    'message.returned', 'session.idle', 'session.ended', 'agent.stuck', 'agent.unstuck']);

-- Functions without a search path of their own are called by those that have one. All are in plpgsql, which plans a
-- statement once: a function in SQL that cannot be inlined is planned at each call.

-- Microseconds since the epoch.
CREATE FUNCTION tui_tasks.clock() RETURNS bigint LANGUAGE plpgsql VOLATILE
AS $$ BEGIN RETURN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint; END $$;

-- The agent as which alone the session's role writes; NULL for a human. The owner and superusers are humans.
CREATE FUNCTION tui_tasks.speaker() RETURNS text LANGUAGE plpgsql STABLE
AS $$
DECLARE
    me tui_tasks.member;
BEGIN
    SELECT * INTO me FROM tui_tasks.member WHERE role = session_user;
    IF NOT FOUND AND NOT pg_has_role(session_user, (
        SELECT relowner FROM pg_class WHERE oid = 'tui_tasks.head'::regclass), 'MEMBER')
    THEN
        RAISE EXCEPTION 'role % may not write: it is no member (tui-tasks admin roles)', session_user
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN me.agent;
END $$;

-- Refuse all but humans.
CREATE FUNCTION tui_tasks.refuse_agents(what text) RETURNS void LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF tui_tasks.speaker() IS NOT NULL THEN
        RAISE EXCEPTION 'role % may not %: that is the human''s', session_user, what
            USING ERRCODE = 'insufficient_privilege';
    END IF;
END $$;

-- An entry's hash: core's `link`, SHA-256 of the one before and of its columns as a JSON array.
CREATE FUNCTION tui_tasks.link(
    previous bytea, seq bigint, at bigint, actor text, kind text, entity text, uid text, task text, change bigint,
    undoes bigint, old text, new text, image text, why text
) RETURNS bytea LANGUAGE plpgsql IMMUTABLE
AS $$
BEGIN
    RETURN sha256(previous || convert_to(
        '[' || seq || ',' || at || ',' || to_json(actor) || ',' || to_json(kind) || ',' || to_json(entity) || ','
        || to_json(uid) || ',' || coalesce(to_json(task)::text, 'null') || ',' || change || ','
        || coalesce(undoes::text, 'null') || ',' || coalesce(to_json(old)::text, 'null') || ','
        || coalesce(to_json(new)::text, 'null') || ',' || coalesce(to_json(image)::text, 'null') || ','
        || coalesce(to_json(why)::text, 'null') || ']', 'UTF8'));
END $$;

-- A client that is stopped with the lock, or waits for it, holds up nobody for longer than two seconds.
CREATE FUNCTION tui_tasks.lock_head()
RETURNS TABLE (
    seq bigint, hash bytea, passed bigint, now bigint, number bigint, journal integer, needs text
) LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    setting text;
    held tui_tasks.head;
BEGIN
    PERFORM tui_tasks.speaker();
    FOREACH setting IN ARRAY ARRAY['idle_in_transaction_session_timeout', 'lock_timeout'] LOOP
        IF current_setting(setting)::interval NOT BETWEEN '1 ms' AND '2 s' THEN
            PERFORM set_config(setting, '2s', false);
        END IF;
    END LOOP;
    SELECT * INTO held FROM tui_tasks.head FOR UPDATE;
    RETURN QUERY SELECT held.seq, held.hash, held.passed, greatest(held.now, tui_tasks.clock()), held.number,
        a.journal, a.needs FROM tui_tasks.about a;
END $$;

-- Append entries and companions after the entry that the client has seen as the newest; return the newest number.
-- TT001: the journal has gone on. TT002: an entry does not follow from the one before it.
CREATE FUNCTION tui_tasks.append(
    expected_seq bigint, expected_hash bytea, seqs bigint[], ats bigint[], actors text[], kinds text[],
    entities text[], uids text[], tasks text[], changes bigint[], undoes bigint[], olds text[], news text[],
    images text[], whys text[], hashes bytea[], now_ bigint, passed_ bigint, c_kinds text[], c_keys text[],
    c_values text[]
) RETURNS bigint LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    speaker CONSTANT text := tui_tasks.speaker();
    wall CONSTANT bigint := tui_tasks.clock();
    count CONSTANT bigint := coalesce(cardinality(seqs), 0);
    companions CONSTANT bigint := coalesce(cardinality(c_kinds), 0);
    held tui_tasks.head;
    last bytea := expected_hash;
    place bigint := expected_seq;
    each record;
    wrong text;
BEGIN
    SELECT * INTO held FROM tui_tasks.head FOR UPDATE;
    IF held.seq <> expected_seq OR held.hash <> expected_hash THEN
        RAISE EXCEPTION 'the journal has gone on: it is at entry %, not %', held.seq, expected_seq
            USING ERRCODE = 'TT001';
    END IF;
    IF speaker IS NOT NULL THEN
        SELECT format('%s as %s', kind, actor) INTO wrong
        FROM unnest(kinds, actors) AS entry (kind, actor)
        WHERE NOT EXISTS (
            SELECT FROM tui_tasks.agent_kind allowed WHERE allowed.kind = entry.kind AND allowed.by = CASE
                WHEN actor = 'system' THEN 'system'
                WHEN actor = speaker
                    OR (speaker LIKE '%*' AND starts_with(actor, left(speaker, -1))) THEN 'itself' END)
        LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'role % is the agent % and may not write %', session_user, speaker, wrong
                USING ERRCODE = 'insufficient_privilege';
        END IF;
        -- An answer from a phone is the human's.
        IF c_kinds && ARRAY['phone_message', 'phone_answer'] THEN
            RAISE EXCEPTION 'role % is the agent % and may not write phone answers', session_user, speaker
                USING ERRCODE = 'insufficient_privilege';
        END IF;
        passed_ := least(passed_, held.passed + greatest(wall - held.clock, 0));
    END IF;
    FOR each IN SELECT * FROM unnest(
        seqs, ats, actors, kinds, entities, uids, tasks, changes, undoes, olds, news, images, whys, hashes
    ) AS entry (seq, at, actor, kind, entity, uid, task, change, undoes, old, new, image, why, hash)
    LOOP
        place := place + 1;
        IF each.seq IS DISTINCT FROM place OR each.change > each.seq THEN
            RAISE EXCEPTION 'entry % does not follow entry %', each.seq, place - 1 USING ERRCODE = 'TT002';
        END IF;
        last := tui_tasks.link(last, each.seq, each.at, each.actor, each.kind, each.entity, each.uid, each.task,
            each.change, each.undoes, each.old, each.new, each.image, each.why);
        IF last IS DISTINCT FROM each.hash THEN
            RAISE EXCEPTION 'the hash of entry % is wrong', each.seq USING ERRCODE = 'TT002';
        END IF;
    END LOOP;
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF count > 0 THEN
        INSERT INTO tui_tasks.journal (
            seq, at, actor, kind, entity, uid, task, change, undoes, old, new, image, why, hash)
        SELECT * FROM unnest(
            seqs, ats, actors, kinds, entities, uids, tasks, changes, undoes, olds, news, images, whys, hashes);
    END IF;
    IF companions > 0 THEN
        -- The last of several rows with the same key counts.
        INSERT INTO tui_tasks.companion AS c (kind, key, value, number)
        SELECT DISTINCT ON (kind, key) kind, key, value, held.number + place
        FROM unnest(c_kinds, c_keys, c_values) WITH ORDINALITY AS given (kind, key, value, place)
        ORDER BY kind, key, place DESC
        ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value, number = excluded.number;
    END IF;
    UPDATE tui_tasks.head SET seq = place, hash = last, passed = greatest(held.passed, passed_),
        now = greatest(held.now, least(now_, wall)), number = held.number + companions, clock = wall;
    IF count + companions > 0 THEN
        PERFORM pg_notify('tui_tasks', place::text);
    END IF;
    RETURN held.number + companions;
END $$;

-- Let the journal of a server without entries begin after an entry, whose state a snapshot will have.
CREATE FUNCTION tui_tasks.begin_at(seq_ bigint, hash_ bytea) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM tui_tasks.refuse_agents('choose where the journal begins');
    UPDATE tui_tasks.head SET seq = seq_, hash = hash_ WHERE seq = 0;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the journal has entries already' USING ERRCODE = 'TT001';
    END IF;
END $$;

-- Store one chunk of a snapshot of the state after an entry. All chunks of one are put in one transaction.
CREATE FUNCTION tui_tasks.put_snapshot(
    seq_ bigint, hash_ bytea, number_ bigint, passed_ bigint, chunk_ integer, chunks_ integer, data_ bytea
) RETURNS void LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM tui_tasks.refuse_agents('store a snapshot');
    IF NOT EXISTS (SELECT FROM tui_tasks.journal j WHERE j.seq = seq_ AND j.hash = hash_)
        AND NOT EXISTS (SELECT FROM tui_tasks.head h WHERE h.seq = seq_ AND h.hash = hash_)
    THEN
        RAISE EXCEPTION 'the journal has no entry % with that hash', seq_ USING ERRCODE = 'TT002';
    END IF;
    IF chunk_ NOT BETWEEN 0 AND chunks_ - 1 THEN
        RAISE EXCEPTION 'chunk % of %', chunk_, chunks_ USING ERRCODE = 'TT002';
    END IF;
    INSERT INTO tui_tasks.snapshot (seq, hash, number, passed, chunk, chunks, data, at)
    VALUES (seq_, hash_, number_, passed_, chunk_, chunks_, data_, tui_tasks.clock());
END $$;

-- The snapshots that have all their chunks, newest first.
CREATE FUNCTION tui_tasks.snapshots() RETURNS TABLE (seq bigint, hash bytea, number bigint, passed bigint, chunks integer)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT s.seq, s.hash, s.number, s.passed, s.chunks FROM tui_tasks.snapshot s
    GROUP BY s.seq, s.hash, s.number, s.passed, s.chunks HAVING count(*) = s.chunks ORDER BY s.seq DESC
$$;

-- Drop the entries up to `seq_`, which a snapshot must cover, and what only older replicas need; return how many.
CREATE FUNCTION tui_tasks.cut(seq_ bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    newest record;
    dropped bigint;
BEGIN
    PERFORM tui_tasks.refuse_agents('drop entries');
    SELECT * INTO newest FROM tui_tasks.snapshots() LIMIT 1;
    IF newest.seq IS NULL OR newest.seq < seq_ THEN
        RAISE EXCEPTION 'no snapshot covers entry %', seq_ USING ERRCODE = 'TT002';
    END IF;
    DELETE FROM tui_tasks.journal WHERE seq <= seq_;
    GET DIAGNOSTICS dropped = ROW_COUNT;
    DELETE FROM tui_tasks.snapshot WHERE seq < newest.seq;
    DELETE FROM tui_tasks.companion WHERE value IS NULL AND number <= newest.number;
    RETURN dropped;
END $$;

REVOKE ALL ON SCHEMA tui_tasks FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA tui_tasks FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA tui_tasks FROM PUBLIC;
