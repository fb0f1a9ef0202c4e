-- The tables of resex-auction(1) in PostgreSQL. It fills them: resex-auction --init --schema FILE.
--
-- Each row, and each list to which rows are added, has a counter, "state", which every change of it
-- raises by one, and the number of the change that raised it last. Pages show them, so that
-- resex-cacheload(1) can tell whether a page is stale. An application that has no such checker
-- needs neither.
CREATE TABLE users (
	id bigint PRIMARY KEY,
	name text NOT NULL,
	state bigint NOT NULL DEFAULT 0,
	last bigint NOT NULL DEFAULT 0,
	-- the list of its bids
	bids_state bigint NOT NULL DEFAULT 0,
	bids_last bigint NOT NULL DEFAULT 0,
	-- the list of items that it sells
	items_state bigint NOT NULL DEFAULT 0,
	items_last bigint NOT NULL DEFAULT 0
);
-- Category 0 is the list of all items.
CREATE TABLE categories (
	id bigint PRIMARY KEY,
	name text NOT NULL,
	-- the list of its items
	state bigint NOT NULL DEFAULT 0,
	last bigint NOT NULL DEFAULT 0
);
CREATE TABLE items (
	id bigint PRIMARY KEY,
	seller bigint NOT NULL,
	category bigint NOT NULL,
	name text NOT NULL,
	price bigint NOT NULL,
	bids bigint NOT NULL DEFAULT 0,
	-- the row, and the list of bids for it
	state bigint NOT NULL DEFAULT 0,
	last bigint NOT NULL DEFAULT 0
);
CREATE INDEX items_category ON items (category, id);
CREATE INDEX items_seller ON items (seller, id);
CREATE TABLE bids (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	item bigint NOT NULL,
	bidder bigint NOT NULL,
	amount bigint NOT NULL
);
CREATE INDEX bids_item ON bids (item, id);
CREATE INDEX bids_bidder ON bids (bidder, id);
