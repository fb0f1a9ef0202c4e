# kmod: the kernel module that fills load records; its build is the kernel's (build.sh). Its sources
# are installed where DKMS looks for them.
EXTRA_DIST += src/kmod/build.sh src/kmod/dkms.conf
dkmsdir = $(prefix)/src/resex-loadmon-$(PACKAGE_VERSION)
dist_dkms_DATA = src/kmod/Kbuild src/kmod/loadmon.c
dkms_DATA = dkms.conf
CLEANFILES += dkms.conf
dkms.conf: $(srcdir)/src/kmod/dkms.conf Makefile
	$(AM_V_GEN)sed 's|[@]VERSION[@]|$(PACKAGE_VERSION)|' $(srcdir)/src/kmod/dkms.conf >$@
dkmsheadersdir = $(dkmsdir)/include/resex
dist_dkmsheaders_DATA = include/resex/load_abi.h include/resex/loadmon_abi.h include/resex/region_abi.h
