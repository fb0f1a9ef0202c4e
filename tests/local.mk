# tests: the gates. Unit tests, fuzzers and system tests have their own fragments.
GATES = tests/gates/layers.sh tests/gates/size.sh tests/gates/format.sh \
	tests/gates/completion.sh tests/gates/completion_agent.sh tests/gates/completion_auction.sh tests/gates/completion_benchex.sh \
	tests/gates/completion_cached.sh tests/gates/completion_daemon.sh tests/gates/completion_lab.sh tests/gates/completion_peek.sh \
	tests/gates/dev.sh tests/gates/fuzz_link.sh tests/gates/lists.sh tests/gates/pictures.sh tests/gates/units.sh
TESTS += $(GATES)
EXTRA_DIST += $(GATES) tests/check-layers.sh tests/check-layers.awk tests/check-objects.awk tests/check-size.sh \
	tests/check-install.sh tests/check-mutants.sh tests/check-pages.sh tests/check-tidy.sh tests/check-unit-file.sh tests/count-assertions.c \
	tests/count-assertions.sh tests/cppcheck.cfg tests/mutants tests/mutants-build.sh tests/mutants.sh \
	tests/model/README.md tests/model/run.sh tests/model/lock.pml \
	tests/model/agree.pml tests/model/cache.pml tests/model/fresh.pml tests/model/members.pml \
	tests/model/move.pml tests/model/role.pml \
	tests/model/view.pml
