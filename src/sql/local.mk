# libsql: the database of cached pages. Programs that link it need $(POSTGRESQL_LIBS) $(SQLITE_LIBS),
# which are empty without them, behind it and libutil.a.
noinst_LIBRARIES += libsql.a
libsql_a_SOURCES = \
	src/sql/backend.h \
	src/sql/backends.c \
	src/sql/common.c \
	src/sql/sql.h
if POSTGRESQL
libsql_a_SOURCES += \
	src/sql/pgsql.c src/sql/pgsql.h \
	src/sql/pgsql_check.c \
	src/sql/pgsql_conn.c src/sql/pgsql_conn.h \
	src/sql/pgsql_texts.c src/sql/pgsql_texts.h \
	src/sql/pgsql_update.c
endif
if SQLITE
libsql_a_SOURCES += src/sql/sqlite.c
endif
