-- The tables of resex-auction(1) in SQLite. It fills them: resex-auction --init --schema FILE.
--
-- Each row, and each list to which rows are added, has a counter, "state", which every change of it
-- raises by one, and the number of the change that raised it last. Pages show them, so that
-- resex-cacheload(1) can tell whether a page is stale. An application that has no such checker
-- needs neither.
CREATE TABLE users (
	id integer PRIMARY KEY,
	name text NOT NULL,
	state integer NOT NULL DEFAULT 0,
	last integer NOT NULL DEFAULT 0,
	-- the list of its bids
	bids_state integer NOT NULL DEFAULT 0,
	bids_last integer NOT NULL DEFAULT 0,
	-- the list of items that it sells
	items_state integer NOT NULL DEFAULT 0,
	items_last integer NOT NULL DEFAULT 0
);
-- Category 0 is the list of all items.
CREATE TABLE categories (
	id integer PRIMARY KEY,
	name text NOT NULL,
	-- the list of its items
	state integer NOT NULL DEFAULT 0,
	last integer NOT NULL DEFAULT 0
);
CREATE TABLE items (
	id integer PRIMARY KEY,
	seller integer NOT NULL,
	category integer NOT NULL,
	name text NOT NULL,
	price integer NOT NULL,
	bids integer NOT NULL DEFAULT 0,
	-- the row, and the list of bids for it
	state integer NOT NULL DEFAULT 0,
	last integer NOT NULL DEFAULT 0
);
CREATE INDEX items_category ON items (category, id);
CREATE INDEX items_seller ON items (seller, id);
CREATE TABLE bids (
	id integer PRIMARY KEY AUTOINCREMENT,
	item integer NOT NULL,
	bidder integer NOT NULL,
	amount integer NOT NULL
);
CREATE INDEX bids_item ON bids (item, id);
CREATE INDEX bids_bidder ON bids (bidder, id);
