# kmod: the kernel module that fills load records; its build is the kernel's (build.sh).
EXTRA_DIST += src/kmod/Kbuild src/kmod/build.sh src/kmod/loadmon.c include/resex/loadmon_abi.h
