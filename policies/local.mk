# libpolicies: pure decisions on libcore.
noinst_LIBRARIES += libpolicies.a
libpolicies_a_SOURCES = \
	policies/check.c policies/check.h \
	policies/freemarket.c \
	policies/ioshares.c \
	policies/ioshares.h \
	policies/ioshares_blame.c policies/ioshares_rate.c \
	policies/ioshares_window.c \
	policies/null.c \
	policies/policies.c policies/policies.h \
	policies/ratio.c \
	policies/slo.c policies/slo.h policies/slo_level.c \
	policies/state.c policies/state.h
dist_policy_DATA += policies/null.json policies/freemarket.json policies/ratio.json \
	policies/ioshares.json policies/slo.json
