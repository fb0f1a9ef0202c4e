-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- schema-sqlite.sql: what resex-cached needs in SQLite, for coherent caching on one machine: for
-- demonstrations and tests. Run it on the application's file; once more is harmless:
--
--	sqlite3 -bail FILE <schema-sqlite.sql
--
-- The file must be on a local disk. SQLite does not say that it was restored from a copy, after
-- which all that was cached is worth nothing: end all resex-cached before, and then
--
--	UPDATE resex_epoch SET timeline = random();

PRAGMA journal_mode = WAL;
BEGIN IMMEDIATE;

-- One row. epoch + 1 at each join. version: of this schema. timeline: drawn once. number: of the
-- newest transaction that joined, removed, resolved or updated. updating: 1 within an update, and
-- never in what another connection can see.
CREATE TABLE IF NOT EXISTS resex_epoch (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	epoch INTEGER NOT NULL CHECK (epoch >= 0),
	version INTEGER NOT NULL,
	timeline INTEGER NOT NULL,
	number INTEGER NOT NULL CHECK (number >= 0),
	updating INTEGER NOT NULL CHECK (updating IN (0, 1))
);
INSERT OR IGNORE INTO resex_epoch VALUES (1, 0, 1, random(), 0, 0);

-- An application server, by its number in cluster.json. generation + 1 at each join; fence + 1
-- whenever any host raises the row; raised: the transaction that did it.
CREATE TABLE IF NOT EXISTS resex_member (
	number INTEGER PRIMARY KEY CHECK (number BETWEEN 1 AND 256),
	generation INTEGER NOT NULL CHECK (generation BETWEEN 0 AND 1073741823),
	fence INTEGER NOT NULL CHECK (fence BETWEEN 0 AND 1073741823),
	is_in INTEGER NOT NULL CHECK (is_in IN (0, 1)),
	raised INTEGER NOT NULL CHECK (raised > 0)
);

-- The newest update of each slot of a member, written by its own transaction. A name is the
-- 64-bit number {fence 30, number 34}, less 2^63, so that the order is kept.
CREATE TABLE IF NOT EXISTS resex_update (
	member INTEGER NOT NULL,
	slot INTEGER NOT NULL,
	name INTEGER NOT NULL,
	"transaction" INTEGER NOT NULL CHECK ("transaction" > 0),
	PRIMARY KEY (member, slot)
);
COMMIT;

-- For each table of which pages are made: these three triggers, with its name for items. Then only
-- updates by resex-cached write to it.
--
-- CREATE TRIGGER resex_items_insert BEFORE INSERT ON items WHEN (SELECT updating FROM resex_epoch) <> 1 BEGIN
--   SELECT RAISE(ABORT, 'items is cached: this INSERT would leave stale pages; send it to resex-cached as an update (POST /v1/update)');
-- END;
-- CREATE TRIGGER resex_items_update BEFORE UPDATE ON items WHEN (SELECT updating FROM resex_epoch) <> 1 BEGIN
--   SELECT RAISE(ABORT, 'items is cached: this UPDATE would leave stale pages; send it to resex-cached as an update (POST /v1/update)');
-- END;
-- CREATE TRIGGER resex_items_delete BEFORE DELETE ON items WHEN (SELECT updating FROM resex_epoch) <> 1 BEGIN
--   SELECT RAISE(ABORT, 'items is cached: this DELETE would leave stale pages; send it to resex-cached as an update (POST /v1/update)');
-- END;
