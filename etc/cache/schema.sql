-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- schema.sql: what resex-cached needs in PostgreSQL (14 or newer), for coherent caching of pages
-- that are made of this database. Run it in the application's database, as its owner; once more is
-- harmless:
--
--	psql -v ON_ERROR_STOP=1 -1 -f schema.sql DATABASE
--
-- Then, for the role with which resex-cached connects (by one who may create roles), and for each
-- table of which pages are made:
--
--	CREATE ROLE cached LOGIN PASSWORD '...';
--	SELECT resex.admit('cached');
--	GRANT SELECT, INSERT, UPDATE, DELETE ON items, bids TO cached;
--	SELECT resex.protect('items'), resex.protect('bids');
--
-- From then on only updates by resex-cached write to these tables. Reading needs nothing. What
-- comes into a table without a statement is not seen, and leaves stale pages: logical replication,
-- and a backup that is restored while hosts run. End all resex-cached before.
--
-- After a failover the old primary must be fenced before the new one is written: a host that only
-- reaches the old one would find itself a member there. What an asynchronous standby did not have
-- is lost, and all that was cached with it: the hosts see another timeline, and begin anew.
--
-- In postgresql.conf: fsync and full_page_writes on (their default). synchronous_commit must not
-- be off, and idle_in_transaction_session_timeout must be set, for the role: a host that hangs in
-- a transaction keeps all others from writing until then. resex.admit sets both. autovacuum must
-- be on (its default): rows that several updates lock at once fill pg_multixact, by about 5 bytes
-- for each that holds the lock, and it is autovacuum that lets them be removed.

CREATE SCHEMA IF NOT EXISTS resex;
COMMENT ON SCHEMA resex IS 'coherent caching of pages: resex-cached(8)';

-- One row. epoch + 1 at each join. version: of this schema.
CREATE TABLE IF NOT EXISTS resex.epoch (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	epoch integer NOT NULL CHECK (epoch >= 0),
	version integer NOT NULL
);
INSERT INTO resex.epoch (epoch, version) VALUES (0, 1) ON CONFLICT (one) DO NOTHING;

-- An application server, by its number in cluster.json. generation + 1 at each join; fence + 1
-- whenever any host raises the row; raised: the transaction that did it.
CREATE TABLE IF NOT EXISTS resex.member (
	number integer PRIMARY KEY CHECK (number BETWEEN 1 AND 256),
	generation integer NOT NULL CHECK (generation BETWEEN 0 AND 1073741823),
	fence integer NOT NULL CHECK (fence BETWEEN 0 AND 1073741823),
	is_in boolean NOT NULL,
	raised bigint NOT NULL CHECK (raised > 0)
);

-- The newest update of each slot of a member, written by its own transaction. A name is the
-- 64-bit number {fence 30, number 34}, less 2^63, so that the order is kept: its fence is
-- (name >> 34) + 536870912, and its number is name & 17179869183.
-- Each update changes its slot's row: room in the page keeps that cheap.
CREATE TABLE IF NOT EXISTS resex.update (
	member integer NOT NULL,
	slot integer NOT NULL CHECK (slot BETWEEN 0 AND 65535),
	name bigint NOT NULL,
	transaction bigint NOT NULL CHECK (transaction > 0),
	PRIMARY KEY (member, slot)
) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);

-- A table that is cached has this trigger. An update of resex-cached has set resex.update to the
-- number of its transaction, after it locked its rows; the setting ends with the transaction.
-- The triggers that resex.protect makes ask the same in WHEN, and call this only to refuse: that
-- costs little.
CREATE OR REPLACE FUNCTION resex.guard() RETURNS trigger LANGUAGE plpgsql AS $guard$
BEGIN
	-- A transaction that has no number yet is no update: NULL.
	IF (pg_catalog.current_setting('resex.update', true) =
	    pg_catalog.pg_current_xact_id_if_assigned()::pg_catalog.text) IS NOT TRUE THEN
		RAISE EXCEPTION USING
			ERRCODE = 'RX001',
			MESSAGE = pg_catalog.format('%I.%I is cached: this %s would leave stale pages; '
				'send it to resex-cached as an update (POST /v1/update)',
				TG_TABLE_SCHEMA, TG_TABLE_NAME, TG_OP);
	END IF;
	RETURN NULL; -- of a trigger for each statement, it is not looked at
END
$guard$;

-- Only updates may write to this table, and to its partitions: those that it has now. Call it
-- again for new ones.
CREATE OR REPLACE FUNCTION resex.protect(cached regclass) RETURNS void LANGUAGE plpgsql AS $protect$
DECLARE
	part regclass;
	what text;
BEGIN
	-- A table that is not partitioned is in no tree of them.
	FOR part IN SELECT cached UNION SELECT relid FROM pg_catalog.pg_partition_tree(cached) LOOP
		FOREACH what IN ARRAY ARRAY['INSERT OR UPDATE OR DELETE', 'TRUNCATE'] LOOP
			EXECUTE format('CREATE OR REPLACE TRIGGER %I BEFORE %s ON %s FOR EACH STATEMENT '
				'WHEN ((pg_catalog.current_setting(''resex.update'', true) = '
				'pg_catalog.pg_current_xact_id_if_assigned()::pg_catalog.text) IS NOT TRUE) '
				'EXECUTE FUNCTION resex.guard()',
				CASE what WHEN 'TRUNCATE' THEN 'resex_truncate' ELSE 'resex_write' END,
				what, part);
		END LOOP;
		EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER resex_write, '
			'ENABLE ALWAYS TRIGGER resex_truncate', part);
	END LOOP;
END
$protect$;

-- Pages are not made of this table any more.
CREATE OR REPLACE FUNCTION resex.unprotect(cached regclass) RETURNS void LANGUAGE plpgsql AS $unprotect$
DECLARE
	part regclass;
BEGIN
	FOR part IN SELECT cached UNION SELECT relid FROM pg_catalog.pg_partition_tree(cached) LOOP
		EXECUTE format('DROP TRIGGER IF EXISTS resex_write ON %s', part);
		EXECUTE format('DROP TRIGGER IF EXISTS resex_truncate ON %s', part);
	END LOOP;
END
$unprotect$;

-- The role of resex-cached: its rights here, and its settings (for new connections).
CREATE OR REPLACE FUNCTION resex.admit(role regrole) RETURNS void LANGUAGE plpgsql AS $admit$
BEGIN
	EXECUTE format('GRANT USAGE ON SCHEMA resex TO %s', role);
	EXECUTE format('GRANT SELECT, UPDATE ON resex.epoch TO %s', role);
	EXECUTE format('GRANT SELECT, INSERT, UPDATE ON resex.member, resex.update TO %s', role);
	EXECUTE format('ALTER ROLE %s SET idle_in_transaction_session_timeout = ''5s''', role);
	EXECUTE format('ALTER ROLE %s SET synchronous_commit = ''on''', role);
END
$admit$;
REVOKE ALL ON FUNCTION resex.admit(regrole), resex.protect(regclass), resex.unprotect(regclass) FROM PUBLIC;
