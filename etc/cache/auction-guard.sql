-- Only updates by resex-cached(8) may write to the tables of resex-auction(1): for PostgreSQL,
-- after schema.sql. resex-auction --init --guard FILE runs it after it has filled the tables.
SELECT resex.protect('users'), resex.protect('categories'), resex.protect('items'),
	resex.protect('bids');
