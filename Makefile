# Gatepost as a PGXS extension: make, make install, make installcheck, make clean, for the server that PG_CONFIG names.
# The project's own commands are make demo, check, quick, bench, mutants, model, check-matrix, check-client, check-cli
# and campaign.
#
#   BUILD=DIR             build in DIR instead of here; several builds can stand side by side
#   GATEPOST_TEST=1       the test build: clock from files, calls that can be stopped at named points, promises that can be
#                         left out by GATEPOST_MUTANT in the server's environment

GATEPOST_VERSION = 0.1.0

SOURCE_DIR := $(patsubst %/,%,$(dir $(abspath $(firstword $(MAKEFILE_LIST)))))
PG_CONFIG ?= pg_config

OWN_COMMANDS = check quick demo bench mutants model check-matrix check-client check-cli campaign

ifneq (,$(filter $(OWN_COMMANDS),$(MAKECMDGOALS)))

# These need no pg_config yet, and PGXS has a check of its own, so PGXS stays out; other goals beside them go to a make of their own.
.PHONY: $(MAKECMDGOALS)
.NOTPARALLEL:
export PG_CONFIG

check quick demo mutants campaign:
	@$(SOURCE_DIR)/scripts/$@.sh
check-matrix:
	@$(SOURCE_DIR)/scripts/check_matrix.sh
check-client:
	@$(SOURCE_DIR)/scripts/client_tests.sh
check-cli:
	@$(SOURCE_DIR)/scripts/cli_tests.sh
bench model:
	@$(SOURCE_DIR)/test/$@/run.sh
$(filter-out $(OWN_COMMANDS),$(MAKECMDGOALS)):
	@$(MAKE) --no-print-directory -f $(SOURCE_DIR)/Makefile $@

else ifdef BUILD

# A build elsewhere is PGXS's build with VPATH.
.PHONY: all install uninstall clean
all install uninstall clean:
	@mkdir -p $(BUILD)
	@$(MAKE) --no-print-directory -C $(BUILD) -f $(SOURCE_DIR)/Makefile VPATH=$(SOURCE_DIR) BUILD= $@

else

SERVER_VERSION := $(shell $(PG_CONFIG) --version)
ifeq (,$(SERVER_VERSION))
$(error $(PG_CONFIG) does not run: install the server's development package, or name another with PG_CONFIG=PATH)
endif
SERVER_MAJOR := $(firstword $(subst ., ,$(word 2,$(SERVER_VERSION))))
ifeq (,$(filter 15 16 17 18,$(SERVER_MAJOR)))
$(error gatepost needs PostgreSQL 15 to 18, and $(PG_CONFIG) is of $(SERVER_VERSION))
endif
PGXS := $(shell $(PG_CONFIG) --pgxs)
ifeq (,$(wildcard $(PGXS)))
$(error PGXS is not there: install the development package of the PostgreSQL $(SERVER_MAJOR) server, or name another with PG_CONFIG=PATH)
endif

SOURCES := $(sort $(wildcard $(SOURCE_DIR)/src/*.cpp))
SQL_PARTS := $(sort $(wildcard $(SOURCE_DIR)/sql/[0-9][0-9]_*.sql))
tests = $(sort $(basename $(notdir $(wildcard $(SOURCE_DIR)/test/$(1)))))

EXTENSION = gatepost
MODULE_big = gatepost
OBJS = $(patsubst $(SOURCE_DIR)/%.cpp,%.o,$(SOURCES))
DATA_built = gatepost--$(GATEPOST_VERSION).sql
EXTRA_CLEAN = $(OBJS:.o=.d) .flags results regression.diffs regression.out output_iso tmp_check
ifeq ($(CURDIR),$(SOURCE_DIR))
EXTRA_CLEAN += build
endif

# The server's headers use "register", which C++ has dropped. What the server may call is exported where it is declared.
PG_CXXFLAGS = -std=c++20 -Wall -Wextra -Wno-register -fvisibility=hidden -fvisibility-inlines-hidden
# Each object writes down the headers it was made from.
PG_CXXFLAGS += -MMD -MP
PG_CPPFLAGS = -DGATEPOST_VERSION='"$(GATEPOST_VERSION)"'
# PGXS links with the C compiler.
SHLIB_LINK = -lstdc++
# The server's rule for bitcode does not pass -std on, and nothing here is worth inlining into a query.
override with_llvm = no

ifneq (,$(GATEPOST_TEST))
PG_CPPFLAGS += -DGATEPOST_TEST
endif

REGRESS = $(call tests,sql/*.sql)
# Names are tried in many alphabets, whatever the cluster encodes by itself.
REGRESS_OPTS = --inputdir=$(SOURCE_DIR)/test --encoding=UTF8
ISOLATION = $(call tests,specs/*.spec)
ISOLATION_OPTS = --inputdir=$(SOURCE_DIR)/test --outputdir=. --encoding=UTF8
ifneq (,$(wildcard $(SOURCE_DIR)/test/t/*.pl))
TAP_TESTS = 1
PROVE_TESTS = test/t/*.pl
endif

$(shell mkdir -p src)
include $(PGXS)

# From here on nothing is searched for, so that a build elsewhere does not take the objects of a build in this folder.
srcdir := $(SOURCE_DIR)
override VPATH :=
vpath %.control $(SOURCE_DIR)

$(OBJS): %.o: $(SOURCE_DIR)/%.cpp
	$(CXX) $(CXXFLAGS) $(CPPFLAGS) -c -o $@ $<

# Objects made with other flags, for another server, or before this folder was moved are made again. What they were made
# from is written down with whole paths.
FLAGS := $(SOURCE_DIR) $(SERVER_VERSION) $(CXX) $(CXXFLAGS) $(CPPFLAGS)
$(shell printf '%s\n' '$(subst ','\'',$(FLAGS))' | cmp -s - .flags || { rm -f $(OBJS:.o=.d); printf '%s\n' '$(subst ','\'',$(FLAGS))' > .flags; })
$(OBJS): .flags

# For test/bench/idle_release only: a release whose ends of transactions wake nobody, and note nothing for it.
ifdef GATEPOST_UNWOKEN
src/waiters.o: override CPPFLAGS += -DGATEPOST_UNWOKEN
endif

gatepost--$(GATEPOST_VERSION).sql: $(SQL_PARTS) $(SOURCE_DIR)/Makefile
	@printf '%s\n' '\echo Use "CREATE EXTENSION gatepost" to load this file. \quit' > $@
	cat $(SQL_PARTS) >> $@

-include $(OBJS:.o=.d)

endif
