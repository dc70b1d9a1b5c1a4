# SPDX-License-Identifier: MIT
CC      ?= cc
OBJCOPY ?= objcopy
CFLAGS  ?= -O2 -g
BUILD   ?= build

# V=1 shows the commands whole.
Q   := $(if $(V),,@)
SAY := @$(if $(V),:,echo)
PREFIX  ?= /usr/local
DESTDIR ?=
COMMA   := ,
VERSION := $(shell sed -n 's/^.define PE_VERSION "\(.*\)"/\1/p' include/posenc/common.h)
SOMAJOR := 0

# Hardening stands before the user's flags, which may say otherwise. A compiler's flag is used where
# it is taken beside them: _FORTIFY_SOURCE wants optimization, and may be set already. Sanitizers
# watch more than all of it, and would see less through it.
takes    = $(shell for flag in $(1); do $(CC) -U_FORTIFY_SOURCE $$flag $(CPPFLAGS) $(CFLAGS) -Werror \
             -include features.h -x c -S /dev/null -o /dev/null 2>/dev/null && echo "$$flag"; done)
ifeq ($(findstring -fsanitize,$(CFLAGS)),)
HARDEN  := -U_FORTIFY_SOURCE $(firstword $(call takes,-D_FORTIFY_SOURCE=3 -D_FORTIFY_SOURCE=2)) \
           $(call takes,-fstack-protector-strong -fstack-clash-protection -fcf-protection=full \
                        -mbranch-protection=standard)
endif
# What compilers for systems with pages and threads take; for others a folder of ports/ says more.
PLATFORM := -fPIC -pthread
TARGET_SYSTEM := $(if $(findstring wasm32,$(CC)),wasm)
COMPILE  = $(CC) $(HARDEN) $(CPPFLAGS) $(CFLAGS)
LINK     = $(CC) -Wl,-z,relro,-z,now,-z,noexecstack $(CFLAGS) $(LDFLAGS)
PIE      = $(if $(filter -static -no-pie,$(CFLAGS) $(LDFLAGS)),,-pie)

# What correctness needs comes after the user's CFLAGS. A newer compiler may warn of more, so that
# warnings are errors only where tests build: WERROR=-Werror.
WARN    := -Wall -Wextra -Wmissing-prototypes -Wvla -Wshadow -Wswitch $(WERROR)
NEEDED   = -std=gnu11 -D_GNU_SOURCE -ffp-contract=off -fno-fast-math $(PLATFORM) -fvisibility=hidden \
           $(UNPLACED) -I. -Iinclude -I$(BUILD) $(WARN) $(FRAME) $(STRICT) $(TERSE) \
           $(if $(filter tests/%,$<),$(TEST_CFLAGS)) $(if $(filter test_%,$(<F)),$(TEST_PROGRAM_CFLAGS))

# Two builds in two folders give the same bytes: no object has the path of its folder, under any name
# that the shell has for it. The order of objects is sorted below, and archives have no times.
HERE     := $(sort $(CURDIR) $(if $(filter $(CURDIR),$(realpath $(PWD))),$(PWD)))
UNPLACED := $(HERE:%=-ffile-prefix-map=%=.)

# Folders whose conversions all say what they lose; any other may join them. An enumerator is how the
# house names a whole number, and a double holds it: newer versions of clang warn of that.
STRICT_FOLDERS := core
STRICT   = $(if $(filter $(STRICT_FOLDERS:%=%/%),$<),-Wconversion -Wcast-qual \
             -Wno-enum-float-conversion)

# Tests leave out fields that are zero, and break long strings inside lists: clang warns of it.
TERSE    = $(if $(filter tests/%,$<),-Wno-missing-field-initializers -Wno-string-concatenation)

# Further flags of all tests, and of the test programs. Optimizing the programs takes longer than it
# saves, since each line runs seldom; fixtures are optimized.
TEST_CFLAGS         ?=
TEST_PROGRAM_CFLAGS ?= -O0 -U_FORTIFY_SOURCE

# A host's threads may have small stacks. Sanitizers widen frames, and tests run on stacks of their
# own choice.
FRAME    = $(if $(findstring -fsanitize,$(CFLAGS))$(filter tests/% bench/%,$<),,-Wframe-larger-than=16384)

ifneq ($(TARGET_SYSTEM),)
.DEFAULT_GOAL := all
include ports/$(TARGET_SYSTEM)/port.mk
endif

# Goals that build nothing themselves; a fresh machine has no compiler before they set it up.
SET_UP_FIRST := help run test test-all test-cluster format lint check fuzz bench bench-quick wasm dist deb image release site openapi uninstall clean
BUILDS := $(if $(MAKECMDGOALS),$(filter-out $(SET_UP_FIRST),$(MAKECMDGOALS)),all)
IS_DRY := $(findstring n,$(firstword -$(MAKEFLAGS)))

# A dry run shows that the set-up comes first, and not what is done with what it brings.
MAKE_THEN = $(if $(IS_DRY),make,$(MAKE)) --no-print-directory

# Any other goal brings the compiler too, where there is none.
ifneq ($(BUILDS),)
ifeq ($(shell command -v $(firstword $(CC))),)
$(if $(IS_DRY),$(eval BUILDS :=),$(if $(shell tools/setup build >&2 || echo failed),\
    $(error there is no compiler $(CC) here)))
endif
endif

# The rows of core/base/isas.def that are of the compiler's machine: ISAS and FLAGS_isa.
ISA_ROWS := $(if $(BUILDS),$(shell $(CC) -E -P -x c core/base/isas.def | \
              sed -n 's/^ISA(\(.*\), *\(.*\), *.*, *"\(.*\)")$$/\1 -DPE_LANES=\2 \3/p' | tr ' ' ':'))
ISAS     :=
define isa_row
ISAS += $(1)
FLAGS_$(1) := $(wordlist 2,99,$(2)) $(patsubst %,-DPE_VEC_ISA='"%"',$(wildcard core/kernels/vec/$(1).h))
endef
$(foreach row,$(ISA_ROWS),$(eval $(call isa_row,$(firstword $(subst :, ,$(row))),$(subst :, ,$(row)))))
$(if $(BUILDS),$(if $(ISAS),,$(error $(CC) reads no row of core/base/isas.def)))

API_LIBS    := -ljansson -lz -lzstd -lsodium
SERVER_LIBS := -lmicrohttpd -luv
CORE_LIBS   := -lm -pthread

KERNELS      := $(sort $(wildcard core/kernels/*.c))
CORE_SOURCES := $(filter-out $(KERNELS),$(sort $(wildcard core/*/*.c core/*/*/*.c)))
CORE_OBJECTS := $(CORE_SOURCES:%.c=$(BUILD)/%.o) \
                $(foreach isa,$(ISAS),$(KERNELS:%.c=$(BUILD)/$(isa)/%.o))
API_SOURCES  := $(filter-out $(PORT_WITHOUT),$(sort $(wildcard api/*/*.c)))
API_OBJECTS  := $(API_SOURCES:%.c=$(BUILD)/%.o)
SVC_SOURCES  := $(filter-out $(PORT_WITHOUT),$(sort $(wildcard service/*.c)))
SVC_OBJECTS  := $(SVC_SOURCES:%.c=$(BUILD)/%.o)
SRV_SOURCES  := $(sort $(wildcard server/*.c))
SRV_OBJECTS  := $(SRV_SOURCES:%.c=$(BUILD)/%.o)

CMD_SOURCES  := $(sort $(wildcard command/*.c))
CMD_OBJECTS  := $(CMD_SOURCES:%.c=$(BUILD)/%.o)

CORE_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/core/test_*.c tests/core/*/test_*.c))
KERNEL_CHECK := $(BUILD)/tests/core/kernels/check_kernels
API_TESTS  := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/api/test_*.c tests/api/*/test_*.c))
CHECK_LIBS := -lcheck -lsubunit -lrt
# What tests hold real numbers against; nothing that is installed needs it.
ORACLE_LIBS := -lmpfr -lgmp
# All else in these folders is fixtures, compiled once; check_* and kernel_* are programs of their own.
fixtures = $(patsubst %.c,$(BUILD)/%.o,tests/check_main.c tests/check_default.c $(filter-out \
           $(addprefix tests/$(1)/,test_% check_% kernel_%),$(wildcard tests/$(1)/*.c)))
CORE_FIXTURES := $(BUILD)/tests/libfixtures_core.a
API_FIXTURES  := $(BUILD)/tests/libfixtures_api.a

SERVICE_LIBRARY := $(BUILD)/libposenc-service.so.$(VERSION)

all: $(BUILD)/posencd $(BUILD)/posencd.8 $(BUILD)/posenc $(BUILD)/libposenc.so.$(VERSION) $(SERVICE_LIBRARY)

# What clients/python puts into its package, by their names in $(BUILD).
PYTHON_FILES := libposenc.so.$(SOMAJOR) libposenc-service.so.$(SOMAJOR) posenc
python-files: $(SERVICE_LIBRARY) $(BUILD)/posenc
	@printf '%s\n' $(PYTHON_FILES) >$(BUILD)/python-files

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(SAY) cc $@
	$(Q)$(COMPILE) $(NEEDED) -MMD -MP -c $< -o $@

# The contract is put into this object as it is. What it says of encodings, and openapi.json, are kept
# beside the sources so that a build needs no Python: `make openapi` remakes them from
# what the service says of itself, and a test compares.
$(BUILD)/api/routes/embedded_files.o: openapi.yaml openapi.json clients/js/client.js

openapi:
	tools/setup openapi
	$(MAKE_THEN) $(BUILD)/posencd
	.venv/bin/python tools/openapi.py

# ---- the page -----------------------------------------------------------------------------------

# Bundled by node where its packages are (`tools/setup build` brings them), else as `make dist` laid
# it into a tarball. Where there is neither the files are empty: posencd shows a list of paths, and
# /docs says where the contract is.
PAGE      := $(BUILD)/explorer
PAGE_FROM := $(if $(BUILDS),$(if $(and $(wildcard explorer/node_modules/esbuild/package.json),$(shell \
               command -v node)),node,$(if $(wildcard explorer/dist/index.html),dist,nothing)))
PAGE_FILES   := explorer.js shared.js second.js explorer.css icon.svg docs.html docs.js docs.css
PAGE_SOURCES := $(shell find explorer/src explorer/docs -type f 2>/dev/null) clients/js/client.js \
                openapi.json $(wildcard explorer/build.mjs explorer/*.html explorer/*.svg \
                explorer/package-lock.json docs/*.md)
PAGE_MAKE_node    = node explorer/build.mjs $(PAGE)
PAGE_MAKE_dist    = cp $(addprefix explorer/dist/,$(PAGE_FILES) index.html) $(PAGE)
PAGE_MAKE_nothing = truncate -s 0 $(addprefix $(PAGE)/,$(PAGE_FILES) index.html) && \
                    cp explorer/docs/nothing.html $(PAGE)/docs.html

ifneq ($(PAGE_FROM),$(shell cat $(PAGE)/from 2>/dev/null))
.PHONY: $(PAGE)/from
endif
$(PAGE)/from:
	@mkdir -p $(@D)
	@echo $(PAGE_FROM) >$@

$(PAGE)/index.html: $(PAGE)/from $(PAGE_SOURCES)
	$(SAY) page $(@D) from $(PAGE_FROM)
	$(Q)$(PAGE_MAKE_$(PAGE_FROM))
	@touch $@

$(PAGE_FILES:%=$(PAGE)/%): $(PAGE)/index.html ;
$(PAGE)/%.gz: $(PAGE)/%
	$(Q)gzip -9nc $< >$@.new && mv $@.new $@

$(BUILD)/server/page_files.o: CPPFLAGS += -DEXPLORER='"$(PAGE)"'
$(BUILD)/server/page_files.o: $(foreach file,index.html $(PAGE_FILES),$(PAGE)/$(file) $(PAGE)/$(file).gz)

# gcc 12 lays 64-byte vectors of frames that AddressSanitizer watches where they are not aligned; in
# kernels the heap is watched alone.
KERNEL_ASAN = $(if $(findstring -fsanitize=address,$(CFLAGS)),$(call takes,--param=asan-stack=0))

# -Wno-psabi: no vector is an argument between objects.
define isa_rule
$(BUILD)/$(1)/%.o: %.c core/base/isas.def
	@mkdir -p $$(@D)
	$(SAY) cc $$@
	$(Q)$(COMPILE) $(NEEDED) $(KERNEL_ASAN) -Wno-psabi $$(FLAGS_$(1)) -DPE_ISA=$(1) -MMD -MP -c $$< -o $$@
endef
$(foreach isa,$(ISAS),$(eval $(call isa_rule,$(isa))))

# A list of objects, rewritten when a source comes or goes: what is made of them is then made anew.
$(BUILD)/core.objects: WANTED = $(CORE_OBJECTS)
$(BUILD)/service.objects: WANTED = $(SVC_OBJECTS) $(API_OBJECTS)
$(BUILD)/%.objects: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(WANTED) | cmp -s - $@ || printf '%s\n' $(WANTED) >$@

$(BUILD)/libposenc.a: $(BUILD)/core.objects
$(BUILD)/libposenc.so.$(VERSION): $(BUILD)/core.objects
$(BUILD)/libposenc-service.a $(SERVICE_LIBRARY): $(BUILD)/service.objects

$(BUILD)/libposenc.a: $(CORE_OBJECTS)
	$(SAY) ar $@
	@rm -f $@
	$(Q)$(AR) rcsD $@ $(filter %.o,$^)

$(BUILD)/libposenc.so.$(VERSION): $(CORE_OBJECTS)
	$(SAY) ld $@
	$(Q)$(LINK) -shared -Wl,-soname,libposenc.so.$(SOMAJOR) $(filter %.o,$^) $(CORE_LIBS) -o $@
	ln -sf $(@F) $(BUILD)/libposenc.so.$(SOMAJOR)
	ln -sf $(@F) $(BUILD)/libposenc.so

$(BUILD)/libposenc-service.a: $(SVC_OBJECTS) $(API_OBJECTS)
	$(SAY) ar $@
	@rm -f $@
	$(Q)$(AR) rcsD $@ $(filter %.o,$^)

# The shared library has a jansson of its own where there is an archive of it: api/ sets jansson's
# allocator, which is one for the whole process, and a host may use jansson as well.
JANSSON := $(filter /%,$(if $(BUILDS),$(shell $(CC) -print-file-name=libjansson.a)))
$(BUILD)/libjansson.a: $(JANSSON)
	@mkdir -p $(@D)
	$(Q)$(OBJCOPY) --redefine-sym stdin=svc_no_stdin $< $@

# What it takes of the core it finds in libposenc beside it.
$(SERVICE_LIBRARY): $(SVC_OBJECTS) $(API_OBJECTS) $(BUILD)/libposenc.so.$(VERSION) \
                    $(if $(JANSSON),$(BUILD)/libjansson.a)
	$(SAY) ld $@
	$(Q)$(LINK) -shared -Wl,-soname,libposenc-service.so.$(SOMAJOR) $(filter %.o %.a,$^) \
	    -Wl,--exclude-libs,ALL -L$(BUILD) -lposenc $(if $(JANSSON),$(filter-out -ljansson,$(API_LIBS)),$(API_LIBS)) \
	    -lm -pthread -Wl,-rpath,'$$ORIGIN' -o $@
	ln -sf $(@F) $(BUILD)/libposenc-service.so.$(SOMAJOR)
	ln -sf $(@F) $(BUILD)/libposenc-service.so

# Both libraries go in whole: the image has one file, the sanitizers see all of it, and a server
# that streams needs api/api.h, which the shared library does not export.
# The flags of the page are those of the program.
$(BUILD)/posencd.8: $(BUILD)/posencd
	$(SAY) man $@
	$(Q)$(BUILD)/posencd --man >$@

$(BUILD)/posencd: $(SRV_OBJECTS) $(BUILD)/libposenc-service.a $(BUILD)/libposenc.a
	$(SAY) ld $@
	$(Q)$(LINK) $(PIE) $(filter %.o %.a,$^) $(SERVER_LIBS) $(API_LIBS) $(CORE_LIBS) -o $@

# The archives too: it starts a millisecond sooner, and needs no library of ours beside it.
$(BUILD)/posenc: $(CMD_OBJECTS) $(BUILD)/libposenc-service.a $(BUILD)/libposenc.a
	$(SAY) ld $@
	$(Q)$(LINK) $(PIE) $(filter %.o %.a,$^) $(API_LIBS) $(CORE_LIBS) -o $@

# What the command knows of encodings and parameters, the service tells.
$(BUILD)/posenc.1 $(BUILD)/posenc.bash: $(BUILD)/posenc
	$(SAY) generate $@
	$(Q)$< generate $(if $(filter %.1,$@),man,bash) >$@.new && mv $@.new $@

$(CORE_FIXTURES): $(call fixtures,core)
$(API_FIXTURES): $(call fixtures,api)
$(CORE_FIXTURES) $(API_FIXTURES):
	@rm -f $@
	$(Q)$(AR) rcsD $@ $^

$(CORE_TESTS): $(BUILD)/%: $(BUILD)/%.o $(CORE_FIXTURES) $(BUILD)/libposenc.a
	$(SAY) ld $@
	$(Q)$(LINK) $(WRAPPED:%=-Wl,--wrap=%) $(filter %.o %.a,$^) $(CHECK_LIBS) $(ORACLE_LIBS) \
	    $(CORE_LIBS) -o $@

$(BUILD)/tests/core/base/test_memory: $(BUILD)/tests/failing.o

# Functions of the core whose calls go through this program.
$(BUILD)/tests/core/exact/test_granted_errors: private WRAPPED := pe_exact_round pe_wide_round pe_wide_write
$(BUILD)/tests/core/base/test_checks: private WRAPPED := pe_clock

# Kernels and dispatch alone, so that it builds for machines whose libraries are not here.
$(KERNEL_CHECK): $(patsubst %.c,$(BUILD)/%.o,tests/core/kernels/check_kernels.c core/base/isa.c core/base/dtype.c \
                   $(wildcard tests/core/kernels/kernel_*.c)) $(filter $(ISAS:%=$(BUILD)/%/core/kernels/%),$(CORE_OBJECTS))
	$(SAY) ld $@
	$(Q)$(LINK) $^ -lm -o $@

# Under qemu: every ISA of 64-bit ARM gives the same hash of each kernel's results as the best one
# here, and vectors of other lengths are left to NEON. QEMU_isa: the processor that has it.
ARM_CC      ?= aarch64-linux-gnu-gcc
QEMU_ARM    ?= qemu-aarch64 -L /usr/aarch64-linux-gnu
QEMU_sve256 := -cpu max,sve256=on

arm: $(KERNEL_CHECK)
	$(KERNEL_CHECK) --hash >$(BUILD)/kernels.hash
	$(MAKE) CC=$(ARM_CC) BUILD=$(BUILD)-arm HASHES=$(BUILD)/kernels.hash arm-isas

# `make test` leaves out the one that is plain C; the suite `ports` has it.
ARM_ISAS ?= $(ISAS)

arm-isas: $(ARM_ISAS:%=arm-%)
	for cpu in max,sve128=on,sve256=off max,sve512=on max,sve=off; do \
	    test "$$($(QEMU_ARM) -cpu $$cpu $(KERNEL_CHECK) --list | head -1)" = neon || exit 1; done

arm-%: $(KERNEL_CHECK)
	$(QEMU_ARM) $(QEMU_$*) $(KERNEL_CHECK) --hash $* >$(BUILD)/$*.hash
	cmp $(HASHES) $(BUILD)/$*.hash
	@echo "ok $*: $$(wc -l <$(HASHES)) kernels give the same results here and there"

$(API_TESTS): $(BUILD)/%: $(BUILD)/%.o $(API_FIXTURES) $(BUILD)/libposenc-service.a $(BUILD)/libposenc.a
	$(SAY) ld $@
	$(Q)$(LINK) $(filter %.o %.a,$^) $(API_LIBS) $(CHECK_LIBS) $(ORACLE_LIBS) $(CORE_LIBS) -o $@

# Every f32 printed and read back: a program of minutes, run by `tests/run numbers`.
NUMBER_CHECK := $(BUILD)/tests/api/check_numbers
$(NUMBER_CHECK): $(BUILD)/tests/api/check_numbers.o $(BUILD)/tests/api/numbers.o $(API_OBJECTS) \
                 $(BUILD)/libposenc.a
	$(SAY) ld $@
	$(Q)$(LINK) $(filter %.o %.a,$^) $(API_LIBS) $(CORE_LIBS) -o $@

# Whole requests beside what is foretold of them: `tests/run costs`.
$(BUILD)/tests/api/check_costs: $(BUILD)/tests/api/check_costs.o $(API_FIXTURES) $(API_OBJECTS) \
                                $(BUILD)/libposenc.a
	$(SAY) ld $@
	$(Q)$(LINK) $(filter %.o %.a,$^) $(API_LIBS) $(CHECK_LIBS) $(CORE_LIBS) -o $@

# Hundreds of millions of random values: `tests/run samples`; ten million of wide numbers:
# `tests/run wide`; time beside the time that is foretold: `tests/run costs`.
$(addprefix $(BUILD)/tests/core/,check_samples check_encodings check_wide check_costs): \
    $(BUILD)/tests/core/check_%: $(BUILD)/tests/core/check_%.o $(CORE_FIXTURES) $(BUILD)/libposenc.a
	$(SAY) ld $@
	$(Q)$(LINK) $^ $(CHECK_LIBS) $(ORACLE_LIBS) $(CORE_LIBS) -o $@

# Values that every port gives alike: `tests/run ports`.
$(BUILD)/tests/ports/values: $(BUILD)/tests/ports/values.o $(BUILD)/libposenc.a
	$(SAY) ld $@
	$(Q)$(LINK) $^ $(if $(TARGET_SYSTEM),,$(CORE_LIBS)) -o $@

# Pictures that they give alike. Of the service only this, of jansson only its header, whose
# functions are cut out, and of zlib the source: a port need not have the libraries.
ZLIB_SOURCES := $(addprefix build-wasm/sources/zlib/,$(addsuffix .c,adler32 crc32 deflate trees zutil \
                  compress))
PICTURE_SOURCES = tests/ports/pictures.c \
                  api/codings/zlib_compress.c $(addprefix api/pictures/,canvas.c canvas_pixels.c canvas_svg.c \
                  drawing.c font.c mask.c png.c spectrum.c) $(addprefix api/base/,base64.c system.c) \
                  $(addprefix api/numbers/,text.c print.c decimal.c) \
                  $(addprefix api/memory/,arena.c budget.c) $(ZLIB_SOURCES)
$(BUILD)/tests/ports/pictures: $(PICTURE_SOURCES) $(BUILD)/libposenc.a
	$(SAY) ld $@
	@mkdir -p $(@D)/headers
	@ln -sf /usr/include/jansson.h /usr/include/jansson_config.h $(@D)/headers
	$(Q)$(LINK) $(NEEDED) -w -I$(@D)/headers -Ibuild-wasm/sources/zlib -ffunction-sections \
	    -fdata-sections -Wl,--gc-sections $^ $(CORE_LIBS) -o $@

# Numbers beside std::from_chars, std::to_chars and jansson.
CXX ?= c++
$(BUILD)/bench/numbers: bench/numbers.cc $(BUILD)/bench/numbers_c.o $(API_OBJECTS) $(BUILD)/libposenc.a
	@mkdir -p $(@D)
	$(SAY) c++ $@
	$(Q)$(CXX) -std=c++17 -O2 -g -Wall -Wextra -I. -Iinclude $^ $(API_LIBS) $(CORE_LIBS) -o $@

# ---- fuzzing ------------------------------------------------------------------------------------

# With any compiler `replay` runs inputs from files; with clang and its libFuzzer each target is a
# program, built by `make fuzz` in a folder of its own.
FUZZ_TARGETS := $(shell sed -n 's/^TARGET(\(.*\))$$/\1/p' tests/fuzz/targets.def 2>/dev/null)
FUZZ_SHARED  := $(patsubst %.c,$(BUILD)/%.o,$(filter-out %/main.c %/replay.c,$(wildcard tests/fuzz/*.c))) $(API_OBJECTS) \
                $(BUILD)/libposenc.a
$(BUILD)/tests/fuzz/replay: $(BUILD)/tests/fuzz/replay.o $(FUZZ_SHARED)
	$(SAY) ld $@
	$(Q)$(CC) $(CFLAGS) $^ $(API_LIBS) $(CORE_LIBS) -o $@

FUZZERS := $(FUZZ_TARGETS:%=$(BUILD)/tests/fuzz/fuzz_%)
fuzzers: $(FUZZERS)
$(FUZZERS): $(BUILD)/tests/fuzz/fuzz_%: tests/fuzz/main.c $(FUZZ_SHARED)
	$(SAY) ld $@
	$(Q)$(CC) $(CFLAGS) $(NEEDED) -fsanitize=fuzzer -DFUZZ_TARGET=fuzz_$* $^ $(API_LIBS) \
	    $(CORE_LIBS) -o $@

# Requests whose allocations fail, one after the other.
$(BUILD)/tests/api/check_allocations: $(addprefix $(BUILD)/tests/,api/check_allocations.o api/failing_requests.o \
                                        failing.o fuzz/request.o) $(API_OBJECTS) $(BUILD)/libposenc.a
	$(SAY) ld $@
	$(Q)$(CC) $(CFLAGS) $^ $(API_LIBS) $(CORE_LIBS) -o $@

unit: $(KERNEL_CHECK) $(CORE_TESTS) $(API_TESTS)
	@set -e; for t in $^; do echo "== $$t"; $$t; done

# ---- measuring: bench/run beside its peers ------------------------------------------------------

BENCH_COMMON := $(BUILD)/bench/wire.o
BENCH_BARE   := $(BENCH_COMMON) $(BUILD)/bench/peers/bare.o
BENCH_TOOLS  := $(addprefix $(BUILD)/bench/,client body peers/echo peers/send)
BENCH_SPEEDS := $(addprefix $(BUILD)/bench/,library products turns.so)
$(BUILD)/bench/client: $(BUILD)/bench/client.o $(BUILD)/bench/answer.o $(BENCH_COMMON)
$(BUILD)/bench/body: $(BUILD)/bench/body.o $(BUILD)/bench/normal.o
$(BUILD)/bench/peers/echo: $(BUILD)/bench/peers/echo.o $(BENCH_BARE)
$(BUILD)/bench/peers/send: $(BUILD)/bench/peers/send.o $(BUILD)/bench/normal.o $(BENCH_BARE)
$(BENCH_TOOLS):
	$(SAY) ld $@
	$(Q)$(LINK) $^ -lm -pthread -o $@

BENCH_WORKER := $(addprefix $(BUILD)/bench/,workers/worker.o normal.o)
$(BUILD)/bench/library: $(patsubst %.c,$(BUILD)/%.o,$(addprefix bench/workers/,library.c views.c rotation.c \
                          attention.c limits.c)) $(BENCH_WORKER) $(BUILD)/libposenc.a
	$(SAY) ld $@
	$(Q)$(LINK) $^ $(CORE_LIBS) -o $@

# The limits of memory are those of this machine.
$(BUILD)/bench/workers/limits.o: CFLAGS += -march=native -O3

$(BUILD)/bench/products: $(BUILD)/bench/workers/products.o $(BENCH_WORKER)
	$(SAY) ld $@
	$(Q)$(LINK) $^ -ldl -lm -o $@

# Preloaded into posencd by one row.
$(BUILD)/bench/workers/turns.o: CFLAGS += -fPIC
$(BUILD)/bench/turns.so: $(BUILD)/bench/workers/turns.o
	$(SAY) ld $@
	$(Q)$(LINK) -shared $^ -ldl -o $@

# ---- installing ---------------------------------------------------------------------------------

HEADERS := $(notdir $(wildcard include/posenc/*.h))
# Debian's packages have the libraries in a folder of the machine: LIBSUBDIR=lib/x86_64-linux-gnu.
LIBSUBDIR ?= lib
LIBDIR  := $(DESTDIR)$(PREFIX)/$(LIBSUBDIR)
INCDIR  := $(DESTDIR)$(PREFIX)/include/posenc
BINDIR  := $(DESTDIR)$(PREFIX)/bin
MANDIR  := $(DESTDIR)$(PREFIX)/share/man
COMPDIR := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
UNITDIR := $(DESTDIR)$(PREFIX)/lib/systemd/system

LIBRARIES := libposenc libposenc-service

# $(1) is a library: its archive, the shared one and its links.
define library_install
	install -m 644 $(BUILD)/$(1).a $(BUILD)/$(1).so.$(VERSION) $(LIBDIR)
	ln -sf $(1).so.$(VERSION) $(LIBDIR)/$(1).so.$(SOMAJOR)
	ln -sf $(1).so.$(SOMAJOR) $(LIBDIR)/$(1).so

endef

# $(1) is a name for pkg-config, $(2) its description, $(3) what else it needs to be linked with.
define pkg_config
	printf '%s\n' 'prefix=$(PREFIX)' 'includedir=$${prefix}/include' 'libdir=$${prefix}/$(LIBSUBDIR)' '' \
	    'Name: $(1)' 'Description: $(2)' 'Version: $(VERSION)' 'Cflags: -I$${includedir}' \
	    'Libs: -L$${libdir} -l$(1)' $(3) >$(LIBDIR)/pkgconfig/$(1).pc

endef

install: all $(LIBRARIES:%=$(BUILD)/%.a) $(BUILD)/posenc.1 $(BUILD)/posenc.bash
	install -d $(LIBDIR)/pkgconfig $(INCDIR) $(BINDIR) $(MANDIR)/man1 $(MANDIR)/man8 $(COMPDIR) $(UNITDIR)
	install -m 644 $(BUILD)/posencd.8 $(MANDIR)/man8
	sed 's|@BINDIR@|$(PREFIX)/bin|' packaging/posencd.service.in >$(UNITDIR)/posencd.service
	install -m 644 $(HEADERS:%=include/posenc/%) $(INCDIR)
	$(foreach library,$(LIBRARIES),$(call library_install,$(library)))
	install -m 755 $(BUILD)/posencd $(BUILD)/posenc $(BINDIR)
	install -m 644 $(BUILD)/posenc.1 $(MANDIR)/man1
	install -m 644 $(BUILD)/posenc.bash $(COMPDIR)/posenc
	$(call pkg_config,posenc,Positional encodings for Transformers$(COMMA) exact,'Libs.private: $(CORE_LIBS)')
	$(call pkg_config,posenc-service,The service of posencd inside a program,'Requires: posenc' 'Libs.private: $(API_LIBS)')

uninstall:
	rm -f $(HEADERS:%=$(INCDIR)/%) $(BINDIR)/posencd $(BINDIR)/posenc $(MANDIR)/man1/posenc.1 \
	    $(MANDIR)/man8/posencd.8 $(COMPDIR)/posenc $(UNITDIR)/posencd.service \
	    $(foreach library,$(LIBRARIES),$(LIBDIR)/$(library).* $(LIBDIR)/pkgconfig/$(library:lib%=%).pc)
	-rmdir $(INCDIR)

# ---- WebAssembly --------------------------------------------------------------------------------

# The package of npm is put together in a folder of its own: clients/js has nothing that is built.
WASM_CC := clang --target=wasm32-wasi
wasm:
	tools/setup wasm
	$(MAKE_THEN) CC='$(WASM_CC)' BUILD=build-wasm build-wasm/posenc.wasm
	mkdir -p build-wasm/package
	cp clients/js/client.* clients/js/example.html clients/js/package.json clients/js/README.md LICENSE \
	    build-wasm/posenc.wasm build-wasm/package

# ---- a release as a tarball -------------------------------------------------------------------------

# What git knows and the page, bundled: whoever builds it needs no node. The same bytes from the same
# commit, wherever it is made.
DIST := posenc-$(VERSION)
TARBALL = tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
            --mtime=@$$(git log -1 --format=%ct) --transform='s,^,$(DIST)/,'
dist:
	tools/setup build
	$(MAKE_THEN) $(BUILD)/$(DIST).tar.gz

.PHONY: $(BUILD)/$(DIST).tar.gz
$(BUILD)/$(DIST).tar.gz: $(PAGE_FILES:%=$(PAGE)/%)
	$(if $(filter nothing,$(PAGE_FROM)),$(error there is no page to put in: tools/setup build))
	@mkdir -p $(BUILD)/dist/explorer/dist
	cp $(PAGE)/index.html $^ $(BUILD)/dist/explorer/dist
	git ls-files -z | $(TARBALL) --null -T - -cf $(BUILD)/$(DIST).tar
	$(TARBALL) -C $(BUILD)/dist -rf $(BUILD)/$(DIST).tar explorer/dist
	gzip -9nf $(BUILD)/$(DIST).tar

# ---- the page as static files -----------------------------------------------------------------------

# What a release is, in build-release; the same files are attached to it by .github/workflows.
release:
	tools/setup wheels
	$(MAKE_THEN) deb
	$(MAKE_THEN) wasm
	.venv/bin/python clients/python/release/wheels.py
	rm -rf build-release
	mkdir build-release
	cp $(BUILD)/$(DIST).tar.gz build-deb/*.deb build-wheels/whole/*.whl build-release
	cp build-wheels/source/posenc-*.tar.gz build-release/posenc-python-$(VERSION).tar.gz
	npm pack --silent --pack-destination build-release ./build-wasm/package
	mv build-release/posenc-$(VERSION).tgz build-release/posenc-npm-$(VERSION).tgz
	ls -l build-release

# Debian packages in build-deb, from the tarball and packaging/debian.
deb:
	tools/setup deb
	$(MAKE_THEN) dist
	rm -rf build-deb
	mkdir build-deb
	cp $(BUILD)/$(DIST).tar.gz build-deb/posenc_$(VERSION).orig.tar.gz
	tar -C build-deb -xf $(BUILD)/$(DIST).tar.gz
	cp -r packaging/debian build-deb/$(DIST)/debian
	cd build-deb/$(DIST) && dpkg-buildpackage --no-sign -b

# The images of both machines, with digests and bills of materials, in build-image. BASE names the
# image that they are built in, Debian 13 where none is given.
image:
	tools/setup image
	docker/image amd64 build-image $(BASE)
	docker/image arm64 build-image $(BASE)

site:
	tools/setup build
	$(MAKE_THEN) wasm
	node explorer/build.mjs build-site --site
	cp build-wasm/posenc.wasm LICENSE build-site

# ---- what people type -------------------------------------------------------------------------------

help:
	@echo 'make run       set up, build, start the server (PORT=8080)'
	@echo 'make test      set up, build, run the quick suites; make test-all: the long ones too'
	@echo 'make fuzz      runs each fuzz target, or TARGETS, for MINUTES=0.5'
	@echo 'make bench     measures beside limits and peers; make bench-quick: in shorter rounds'
	@echo 'make format    writes the format of C, Python and TypeScript; make lint checks it'
	@echo 'make check     layers, format, clang-tidy'
	@echo 'make wasm      build-wasm/posenc.wasm, the service for pages; and the package of npm'
	@echo 'make dist      a tarball with the page bundled, for machines without node'
	@echo 'make release   tarball, Debian packages, wheels and package of npm, in build-release'
	@echo 'make deb       Debian packages in build-deb: libposenc0, libposenc-dev, posencd, posenc'
	@echo 'make test-cluster  the stack on a container engine, under load while replicas fail'
	@echo 'make image     container images of amd64 and arm64 with their SBOM in build-image'
	@echo 'make site      build-site: the page with the module, for any server of files'
	@echo 'make install   the libraries, the server and the command (PREFIX=/usr/local, DESTDIR=)'
	@echo 'make uninstall removes them'
	@echo 'make openapi   generated parts of openapi.yaml, and openapi.json'

PORT ?= 8080
run:
	@tools/setup build
	@$(MAKE_THEN) -sj2 all
	@$(BUILD)/posencd --bind 127.0.0.1 --port $(PORT) --log-format text --drain-delay 0

# WITHOUT names suites to leave out, where they cannot run.
test:
	tools/setup test
	tests/run $(if $(WITHOUT),--without $(WITHOUT))

test-cluster:
	tools/setup test
	tests/run cluster-files cluster

test-all:
	tools/setup test
	tests/run --all

# MINUTES is for each target; TARGETS are all by default.
MINUTES ?= 0.5
fuzz:
	tools/setup fuzz
	tests/fuzz/run --minutes $(MINUTES) $(TARGETS)

# The sources of each language, as git lists them.
C_FILES  = $(shell git ls-files '*.c' '*.h' '*.cc' ':!ports/wasm/*_config.h' ':!ports/wasm/sodium')
JS_FILES = $(shell git ls-files 'explorer/*.ts' 'explorer/*.mjs' 'explorer/*.css' 'clients/js/*.js' \
             'clients/js/*.ts' 'tests/explorer/*.mjs' 'tests/explorer/*.ts' 'tests/integration/*.mjs')
PRETTIER = node explorer/node_modules/prettier/bin/prettier.cjs --config explorer/.prettierrc.json

format:
	tools/setup test
	@.venv/bin/clang-format -i $(C_FILES)
	@.venv/bin/ruff format --quiet
	@$(PRETTIER) --log-level warn --write $(JS_FILES)
	.venv/bin/ruff check --quiet --fix

lint:
	@.venv/bin/clang-format --dry-run -Werror $(C_FILES)
	.venv/bin/ruff check --quiet
	@.venv/bin/ruff format --quiet --check
	@$(PRETTIER) --log-level warn --check $(JS_FILES)
	node explorer/node_modules/typescript/bin/tsc --noEmit -p explorer

check:
	tools/setup test
	tools/setup check
	tests/run style
	clang-tidy --quiet $(CORE_SOURCES) $(API_SOURCES) $(SVC_SOURCES) $(SRV_SOURCES) $(CMD_SOURCES) \
	    -- $(NEEDED)

# bench/numbers is a C++ program: without a compiler its rows are marked not measured.
bench-tools: all $(BENCH_TOOLS) $(BENCH_SPEEDS)
	-$(if $(wildcard bench/numbers.cc),$(MAKE_THEN) $(BUILD)/bench/numbers)

bench bench-quick:
	tools/setup bench
	$(MAKE_THEN) -j2 bench-tools
	BUILD=$(BUILD) bench/run $(if $(filter bench-quick,$@),--quick)

clean:
	rm -rf build build-*

FORCE:

.PHONY: FORCE all unit arm arm-isas clean openapi help run test test-all test-cluster check install uninstall bench \
        bench-quick bench-tools dist deb image release format lint fuzz fuzzers site wasm python-files
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' -type f 2>/dev/null)
