-- Only updates by resex-cached(8) may write to the tables of resex-auction(1): for SQLite, after
-- schema-sqlite.sql. resex-auction --init --guard FILE runs it after it has filled the tables.
CREATE TRIGGER resex_users_insert BEFORE INSERT ON users
WHEN (SELECT updating FROM resex_epoch) <> 1 BEGIN
	SELECT RAISE(ABORT, 'users is cached: this INSERT would leave stale pages; send it to resex-cached as an update (POST /v1/update)');
END;
CREATE TRIGGER resex_users_update BEFORE UPDATE ON users
WHEN (SELECT updating FROM resex_epoch) <> 1 BEGIN
	SELECT RAISE(ABORT, 'users is cached: this UPDATE would leave stale pages; send it to resex-cached as an update (POST /v1/update)');
END;
CREATE TRIGGER resex_users_delete BEFORE DELETE ON users
WHEN (SELECT updating FROM resex_epoch) <> 1 BEGIN
	SELECT RAISE(ABORT, 'users is cached: this DELETE would leave stale pages; send it to resex-cached as an update (POST /v1/update)');
END;
CREATE TRIGGER resex_categories_insert BEFORE INSERT ON categories
WHEN (SELECT updating FROM resex_epoch) <> 1 BEGIN
	SELECT RAISE(ABORT, 'categories is cached: this INSERT would leave stale pages; send it to resex-cached as an update (POST /v1/update)');
END;
CREATE TRIGGER resex_categories_update BEFORE UPDATE ON categories
WHEN (SELECT updating FROM resex_epoch) <> 1 BEGIN
	SELECT RAISE(ABORT, 'categories is cached: this UPDATE would leave stale pages; send it to resex-cached as an update (POST /v1/update)');
END;
CREATE TRIGGER resex_categories_delete BEFORE DELETE ON categories
WHEN (SELECT updating FROM resex_epoch) <> 1 BEGIN
	SELECT RAISE(ABORT, 'categories is cached: this DELETE would leave stale pages; send it to resex-cached as an update (POST /v1/update)');
END;
CREATE TRIGGER resex_items_insert BEFORE INSERT ON items
WHEN (SELECT updating FROM resex_epoch) <> 1 BEGIN
	SELECT RAISE(ABORT, 'items is cached: this INSERT would leave stale pages; send it to resex-cached as an update (POST /v1/update)');
END;
CREATE TRIGGER resex_items_update BEFORE UPDATE ON items
WHEN (SELECT updating FROM resex_epoch) <> 1 BEGIN
	SELECT RAISE(ABORT, 'items is cached: this UPDATE would leave stale pages; send it to resex-cached as an update (POST /v1/update)');
END;
CREATE TRIGGER resex_items_delete BEFORE DELETE ON items
WHEN (SELECT updating FROM resex_epoch) <> 1 BEGIN
	SELECT RAISE(ABORT, 'items is cached: this DELETE would leave stale pages; send it to resex-cached as an update (POST /v1/update)');
END;
CREATE TRIGGER resex_bids_insert BEFORE INSERT ON bids
WHEN (SELECT updating FROM resex_epoch) <> 1 BEGIN
	SELECT RAISE(ABORT, 'bids is cached: this INSERT would leave stale pages; send it to resex-cached as an update (POST /v1/update)');
END;
CREATE TRIGGER resex_bids_update BEFORE UPDATE ON bids
WHEN (SELECT updating FROM resex_epoch) <> 1 BEGIN
	SELECT RAISE(ABORT, 'bids is cached: this UPDATE would leave stale pages; send it to resex-cached as an update (POST /v1/update)');
END;
CREATE TRIGGER resex_bids_delete BEFORE DELETE ON bids
WHEN (SELECT updating FROM resex_epoch) <> 1 BEGIN
	SELECT RAISE(ABORT, 'bids is cached: this DELETE would leave stale pages; send it to resex-cached as an update (POST /v1/update)');
END;
