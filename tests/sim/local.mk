# tests/sim: what ResEx promises, shown by the whole daemon on the simulated host.
SIM_TESTS = tests/sim/sim.py tests/sim/figures.py tests/sim/sweep.py
TESTS += $(SIM_TESTS)
EXTRA_DIST += $(SIM_TESTS) tests/sim/ablations.py tests/sim/bounds.py tests/sim/claims.py \
	tests/sim/files.py tests/sim/group.py tests/sim/host.py tests/sim/paper.py \
	tests/sim/random_files.py tests/sim/sets.py tests/sim/stability.py
