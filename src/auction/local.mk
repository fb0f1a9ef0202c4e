# resex-auction: an application whose pages are cached.
if CURL
bin_PROGRAMS += resex-auction
noinst_LIBRARIES += libauction.a
libauction_a_SOURCES = \
	src/auction/answer.c src/auction/auction.h \
	src/auction/db.c src/auction/db_error.c src/auction/db.h src/auction/db_backends.h \
	src/auction/init.c src/auction/options.c \
	src/auction/page.c src/auction/page.h src/auction/pages.c src/auction/pages.h \
	src/auction/pool.c src/auction/pool.h \
	src/auction/server.c \
	src/auction/update.c src/auction/update.h
if POSTGRESQL
libauction_a_SOURCES += src/auction/db_pgsql.c
endif
if SQLITE
libauction_a_SOURCES += src/auction/db_sqlite.c
endif
libauction_a_CFLAGS = $(AM_CFLAGS) $(EVHTTP_CFLAGS) $(POSTGRESQL_CFLAGS) $(SQLITE_CFLAGS)
resex_auction_SOURCES = src/auction/main.c
AUCTION_LIBS = libauction.a $(APPCACHE_LIBS) libutil.a libcore.a $(EVHTTP_LIBS) $(POSTGRESQL_LIBS) $(SQLITE_LIBS)
resex_auction_LDADD = $(AUCTION_LIBS)
endif
EXTRA_DIST += src/auction/db_pgsql.c src/auction/db_sqlite.c
