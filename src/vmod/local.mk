# libvmod_resex.so: the VMOD of Varnish. Without a sanitizer, since varnishd has none; so it compiles
# its own of what libresex-ring.a and libutil.a have.
EXTRA_DIST += src/vmod/vmod_resex.vcc src/vmod/vmod_resex.vsc
if VARNISH
vmod_PROGRAMS = libvmod_resex.so
libvmod_resex_so_SOURCES = \
	include/resex/cache_ring.h include/resex/life_abi.h \
	src/cache/place.c src/cache/place.h \
	src/ring/connect.c src/ring/connect.h \
	src/ring/direct.c src/ring/direct.h \
	src/ring/ring_client.c src/ring/ring_client.h \
	src/ring/ring_pool.c src/ring/ring_pool.h \
	src/ring/version_text.c src/ring/version_text.h \
	src/util/clock.c src/util/clock.h \
	src/vmod/task.c src/vmod/task.h \
	src/vmod/vmod_resex.c
nodist_libvmod_resex_so_SOURCES = src/vmod/vcc_resex_if.h src/vmod/VSC_resex.h
libvmod_resex_so_CPPFLAGS = $(AM_CPPFLAGS) -Isrc/vmod $(VARNISH_CFLAGS:-I%=-isystem %)
libvmod_resex_so_CFLAGS = -std=gnu11 $(OPT) $(WARN) -fPIC -fvisibility=hidden
libvmod_resex_so_LDFLAGS = -shared -Wl,-u,Vmod_resex_Data
libvmod_resex_so_LDADD = libvmod-generated.a

# What Varnish's programs make has warnings of its own.
noinst_LIBRARIES += libvmod-generated.a
nodist_libvmod_generated_a_SOURCES = src/vmod/vcc_resex_if.c src/vmod/VSC_resex.c
libvmod_generated_a_CPPFLAGS = $(libvmod_resex_so_CPPFLAGS)
libvmod_generated_a_CFLAGS = -std=gnu11 $(OPT) -w -fPIC

vmod-generated: $(VMOD_GENERATED)
VMOD_GENERATED = src/vmod/vcc_resex_if.c src/vmod/vcc_resex_if.h src/vmod/VSC_resex.c src/vmod/VSC_resex.h
CLEANFILES += $(VMOD_GENERATED) src/vmod/vmod_resex.rst src/vmod/vmod_resex.man.rst
src/vmod/libvmod_resex_so-task.$(OBJEXT) src/vmod/libvmod_resex_so-vmod_resex.$(OBJEXT): $(VMOD_GENERATED)
src/vmod/vcc_resex_if.h: src/vmod/vcc_resex_if.c
src/vmod/vcc_resex_if.c: $(srcdir)/src/vmod/vmod_resex.vcc
	$(AM_V_GEN)mkdir -p src/vmod && $(VMODTOOL) --strict -w src/vmod -o src/vmod/vcc_resex_if $(srcdir)/src/vmod/vmod_resex.vcc
src/vmod/VSC_resex.h: src/vmod/VSC_resex.c
src/vmod/VSC_resex.c: $(srcdir)/src/vmod/vmod_resex.vsc
	$(AM_V_GEN)mkdir -p src/vmod && vsc=$$(cd $(srcdir) && pwd)/src/vmod/vmod_resex.vsc && \
		cd src/vmod && $(VSCTOOL) -ch $$vsc
endif
