# outbox_relay: PGXS build.  make && make install && make installcheck
# PG_CONFIG chooses the server; WERROR= builds with warnings that are not errors.
EXTENSION = outbox_relay
MODULE_big = outbox_relay
DATA = outbox_relay--1.0.sql
OBJS = $(patsubst %.cpp,%.o,$(sort $(wildcard src/*.cpp src/*/*.cpp)))
REGRESS = $(patsubst sql/%.sql,%,$(sort $(wildcard sql/*.sql)))
REGRESS_OPTS = --inputdir=.

# The server must preload the library: CREATE EXTENSION says so if it does not. C++20 is not what the LLVM
# bitcode rules of PGXS expect, and code that waits on a network gains nothing from inlining.
override with_llvm = no

WERROR = -Werror
PG_CXXFLAGS = -std=c++20 -fvisibility=hidden -Wall -Wextra $(WERROR) -Wno-register -Wno-unused-parameter \
	-Wno-missing-field-initializers
PG_CPPFLAGS = -I$(srcdir)/src
SHLIB_LINK = -lrabbitmq -lssl -lcrypto -lresolv -lstdc++

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# PGXS knows no dependencies between a C++ file and its headers: any header rebuilds all.
$(OBJS): $(wildcard src/*/*.hpp)
