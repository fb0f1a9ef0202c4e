# libresex-cache: the library with which applications have their pages cached. Installed, static
# only. Position independent, so that shared objects can contain it.
EXTRA_DIST += src/appcache/resex-cache.pc.in
if CURL
lib_LIBRARIES += libresex-cache.a
libresex_cache_a_SOURCES = src/appcache/appcache.h src/appcache/cache.c src/appcache/error.c src/appcache/http.c \
	src/appcache/update.c
libresex_cache_a_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS) -fPIC
resexinclude_HEADERS += include/resex/cache.h
pkgconfig_DATA += resex-cache.pc
APPCACHE_LIBS = libresex-cache.a $(CURL_LIBS) $(JANSSON_LIBS)
else
EXTRA_DIST += include/resex/cache.h
endif
CLEANFILES += resex-cache.pc
resex-cache.pc: $(srcdir)/src/appcache/resex-cache.pc.in Makefile
	$(AM_V_GEN)sed -e 's|[@]prefix[@]|$(prefix)|g' -e 's|[@]exec_prefix[@]|$(exec_prefix)|g' \
		-e 's|[@]libdir[@]|$(libdir)|g' -e 's|[@]includedir[@]|$(includedir)|g' \
		-e 's|[@]VERSION[@]|$(VERSION)|g' $(srcdir)/src/appcache/resex-cache.pc.in >$@
