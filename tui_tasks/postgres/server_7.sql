-- What an agent's role may write of every entity, whichever kind it gives the entry: JSON objects, nothing that is the
-- human's, and nothing in another agent's name. Whose a question or a message is, is in the entry that made it. All
-- entries of an append are looked at once.

CREATE INDEX journal_claim ON tui_tasks.journal (uid) WHERE entity = 'claim' AND old IS NULL;
CREATE INDEX journal_owned ON tui_tasks.journal (uid, seq) WHERE entity IN ('ask', 'human_message', 'state');

-- Once the time that passed has begun, it goes on no faster than the server's clock, whoever writes.
CREATE FUNCTION tui_tasks.limit_passed() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    NEW.passed := OLD.passed + greatest(NEW.clock - OLD.clock, 0);
    RETURN NEW;
END $$;
CREATE TRIGGER passed BEFORE UPDATE ON tui_tasks.head FOR EACH ROW
WHEN (OLD.passed > 0 AND NEW.passed > OLD.passed + greatest(NEW.clock - OLD.clock, 0)) EXECUTE FUNCTION tui_tasks.limit_passed();

-- Whether a question, a message or a state is the speaker's by the newest entry that names its agent. What was made
-- before the oldest entry is anybody's. `ended`: others' questions that have run out count too.
CREATE FUNCTION tui_tasks.is_agents_own(speaker text, given_entity text, given_uid text, ended boolean) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    made jsonb;
BEGIN
    SELECT j.new::jsonb INTO made FROM tui_tasks.journal j
    WHERE j.entity IN ('ask', 'human_message', 'state') AND j.entity = given_entity AND j.uid = given_uid
        AND j.new::jsonb ? 'agent'
    ORDER BY j.seq DESC LIMIT 1;
    RETURN coalesce(tui_tasks.speaks_as(speaker, made ->> 'agent'), true)
        OR (ended AND coalesce((made ->> 'expires_at')::bigint < tui_tasks.clock() + 60000000, false));
END $$;

-- Whether an entry of an agent's role says what the role may say.
CREATE FUNCTION tui_tasks.is_agents_entry(
    speaker text, given_actor text, given_entity text, given_kind text, given_uid text, given_old text, given_new text
) RETURNS boolean LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    value CONSTANT jsonb := given_new;
    is_new CONSTANT boolean := given_old IS NULL;
    holder text;
BEGIN
    CASE given_entity
        WHEN 'ask' THEN
            IF is_new THEN
                RETURN coalesce(given_kind = 'ask.opened' AND value ->> 'state' IN ('open', 'withdrawn')
                    AND value ->> 'answer' IS NULL AND value ->> 'rule' IS NULL
                    AND tui_tasks.speaks_as(speaker, value ->> 'agent'), false);
            END IF;
            RETURN coalesce(value ->> 'state' IN ('withdrawn', 'timeout')
                AND value - ARRAY['state', 'answered_at', 'reason'] = '{}', false)
                AND tui_tasks.is_agents_own(speaker, 'ask', given_uid, value ->> 'state' = 'timeout');
        WHEN 'human_message' THEN
            RETURN NOT is_new AND value - ARRAY['delivered_at', 'delivered_seq'] = '{}'
                AND tui_tasks.is_agents_own(speaker, 'human_message', given_uid, false);
        WHEN 'stuck' THEN
            RETURN tui_tasks.speaks_as(speaker, given_uid);
        WHEN 'state' THEN
            RETURN coalesce(tui_tasks.speaks_as(speaker, value ->> 'agent'), NOT is_new)
                AND (value ? 'agent' OR value - 'deleted' = '{}'
                    OR tui_tasks.is_agents_own(speaker, 'state', given_uid, false));
        WHEN 'agent' THEN
            RETURN false;
        WHEN 'list' THEN
            RETURN CASE WHEN is_new THEN coalesce(value ->> 'review', 'false') = 'false' ELSE NOT value ? 'review' END;
        WHEN 'task' THEN
            RETURN coalesce(value ->> 'updated_by', given_actor) = given_actor AND CASE WHEN is_new
                THEN value ->> 'accepted' IS NULL AND value ->> 'checks' IS NULL
                    AND tui_tasks.speaks_as(speaker, coalesce(value ->> 'created_by', speaker))
                ELSE NOT value ?| ARRAY['accepted', 'checks', 'decline_reason', 'created_by'] END;
        WHEN 'job' THEN
            RETURN CASE WHEN is_new
                THEN value ->> 'accepted' IS NULL AND tui_tasks.speaks_as(speaker, coalesce(value ->> 'created_by', speaker))
                ELSE NOT value ? 'created_by' AND (NOT value ? 'accepted' OR value ->> 'held' = 'true') END;
        WHEN 'log' THEN
            RETURN CASE WHEN is_new THEN coalesce(tui_tasks.speaks_as(speaker, value ->> 'agent'), false)
                ELSE value - 'deleted' = '{}' END;
        WHEN 'session' THEN
            RETURN tui_tasks.speaks_as(speaker, given_uid);
        WHEN 'claim' THEN
            IF is_new THEN
                RETURN coalesce(tui_tasks.speaks_as(speaker, value ->> 'agent'), false);
            END IF;
            IF given_actor = 'system' THEN
                RETURN value = '{"state": "lapsed"}';
            END IF;
            -- NULL: taken before the oldest entry.
            SELECT j.actor INTO holder FROM tui_tasks.journal j
            WHERE j.entity = 'claim' AND j.old IS NULL AND j.uid = given_uid LIMIT 1;
            RETURN coalesce(tui_tasks.speaks_as(speaker, holder), true) AND NOT value ? 'agent';
        ELSE
            RETURN true;
    END CASE;
END $$;

CREATE FUNCTION tui_tasks.refuse_forged_entries() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    speaker CONSTANT text := tui_tasks.speaker();
    what text;
BEGIN
    IF speaker IS NULL THEN
        RETURN NULL;
    END IF;
    -- What is no JSON at all is refused by the cast.
    IF EXISTS (SELECT FROM added, unnest(ARRAY[added.old, added.new, added.image, added.why]) AS given
        WHERE json_typeof(given::json) <> 'object')
    THEN
        RAISE EXCEPTION 'role % is the agent % and may not write values that are no object', session_user, speaker
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT format('%s of a %s that is another''s', added.kind, added.entity) INTO what FROM added
    WHERE tui_tasks.is_agents_entry(
        speaker, added.actor, added.entity, added.kind, added.uid, added.old, added.new) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'role % is the agent % and may not write %', session_user, speaker, what
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER forged_entries AFTER INSERT ON tui_tasks.journal REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION tui_tasks.refuse_forged_entries();

-- Beside the journal: replies, names of sessions, and when leases end.
CREATE FUNCTION tui_tasks.refuse_forged_names() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    speaker CONSTANT text := tui_tasks.speaker();
    named CONSTANT text := NEW.key::jsonb ->> 0;
    what text;
BEGIN
    IF speaker IS NULL THEN
        RETURN NEW;
    END IF;
    IF NEW.kind = 'view' THEN
        IF NOT tui_tasks.is_agents_lease(speaker, NEW.key, NEW.value) THEN
            what := 'when others'' leases end';
        END IF;
    ELSIF NEW.kind = 'asker' THEN
        IF NOT tui_tasks.is_agents_own(speaker, 'ask', named, false) THEN
            what := 'who waits for another''s question';
        END IF;
    ELSIF NEW.kind = 'kept_reply' THEN
        -- Anybody deletes replies that are a day old.
        IF NOT tui_tasks.speaks_as(speaker, named) AND (NEW.value IS NOT NULL OR EXISTS (
            SELECT FROM tui_tasks.companion c, tui_tasks.head h
            WHERE c.kind = NEW.kind AND c.key = NEW.key
                AND coalesce((c.value::jsonb ->> 'at')::bigint, 0) > h.passed - 43200000000))
        THEN
            what := format('replies of %s', named);
        END IF;
    ELSIF NEW.value IS NOT NULL AND NOT coalesce(tui_tasks.speaks_as(speaker, NEW.value::jsonb ->> 'agent'), false)
        OR EXISTS (SELECT FROM tui_tasks.companion c WHERE c.kind = NEW.kind AND c.key = NEW.key
            AND NOT tui_tasks.speaks_as(speaker, c.value::jsonb ->> 'agent'))
    THEN
        what := format('sessions of %s', coalesce(NEW.value::jsonb ->> 'agent', 'another'));
    END IF;
    IF what IS NOT NULL THEN
        RAISE EXCEPTION 'role % is the agent % and may not write %', session_user, speaker, what
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;

-- Whether an agent's role may write when something ends: of machines, and of claims and questions of its own. Whoever looks
-- deletes what has ended.
CREATE FUNCTION tui_tasks.is_agents_lease(speaker text, given_key text, given text) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    named CONSTANT text := substring(given_key FROM '^\["until:((?!phone:)[0-9A-Za-z@._:-]+)"\]$');
    ends CONSTANT text := given::jsonb ->> 'value';
    passed CONSTANT bigint := (SELECT h.passed FROM tui_tasks.head h);
    before CONSTANT bigint := (SELECT (c.value::jsonb ->> 'value')::bigint FROM tui_tasks.companion c
        WHERE c.kind = 'view' AND c.key = given_key);
    holder text;
BEGIN
    IF named IS NULL OR (given IS NOT NULL AND coalesce(ends !~ '^[0-9]{1,18}$', true)) THEN
        RETURN false;
    END IF;
    -- A machine that is forgotten gets a whole lease. None is made to end at once.
    IF starts_with(named, 'machine:') THEN
        RETURN given IS NULL OR coalesce(ends::bigint >= least(before, passed + 300000000), true);
    END IF;
    IF given IS NULL AND coalesce(before < passed + 60000000, true) THEN
        RETURN true;
    END IF;
    SELECT j.actor INTO holder FROM tui_tasks.journal j
    WHERE j.entity = 'claim' AND j.old IS NULL AND j.uid = named LIMIT 1;
    RETURN coalesce(tui_tasks.speaks_as(speaker, holder), true) AND tui_tasks.is_agents_own(speaker, 'ask', named, false);
END $$;

CREATE TRIGGER forged_names BEFORE INSERT ON tui_tasks.companion FOR EACH ROW
WHEN (NEW.kind IN ('kept_reply', 'session_name', 'asker', 'view')) EXECUTE FUNCTION tui_tasks.refuse_forged_names();

REVOKE ALL ON FUNCTION tui_tasks.limit_passed(), tui_tasks.is_agents_own(text, text, text, boolean),
    tui_tasks.is_agents_lease(text, text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION tui_tasks.is_agents_entry(text, text, text, text, text, text, text),
    tui_tasks.refuse_forged_entries(), tui_tasks.refuse_forged_names() FROM PUBLIC;
