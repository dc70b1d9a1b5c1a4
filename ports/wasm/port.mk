# SPDX-License-Identifier: MIT
# WebAssembly, by clang, lld and wasi-libc: make CC='clang --target=wasm32-wasi' BUILD=build-wasm.
# `tools/setup wasm` puts the sources of jansson, libsodium and zlib into $(BUILD)/sources.

AR       := llvm-ar
HARDEN   :=
LINK      = $(CC) $(CFLAGS) -Wl,-z,stack-size=1048576 $(LDFLAGS)
PLATFORM := -D_WASI_EMULATED_GETPID -isystem ports/wasm -isystem $(BUILD)/sources/jansson/src \
            -isystem $(BUILD)/sources/libsodium/src/libsodium/include -isystem $(BUILD)/sources/zlib

# A page has no use for codings, since its browser decodes what it fetches, and no control groups.
PORT_WITHOUT := api/codings/gzip.c api/codings/zstd.c

JANSSON_C := dump error hashtable hashtable_seed load memory pack_unpack strbuffer strconv utf value
SODIUM_C  := sodium/utils sodium/codecs crypto_shorthash/crypto_shorthash \
             crypto_shorthash/siphash24/shorthash_siphash24 \
             crypto_shorthash/siphash24/ref/shorthash_siphash24_ref \
             crypto_hash/sha256/hash_sha256 crypto_hash/sha256/cp/hash_sha256_cp
ZLIB_C    := adler32 crc32 deflate trees zutil compress
FOREIGN   := $(JANSSON_C:%=jansson/src/%) $(SODIUM_C:%=libsodium/src/libsodium/%) $(ZLIB_C:%=zlib/%)

$(BUILD)/sources/%.o: $(BUILD)/sources/%.c
	$(SAY) cc $@
	$(Q)$(CC) $(CFLAGS) -w -DHAVE_CONFIG_H -DSODIUM_STATIC -D_WASI_EMULATED_SIGNAL -isystem ports/wasm \
	    -I$(BUILD)/sources/libsodium/src/libsodium/include \
	    -I$(BUILD)/sources/libsodium/src/libsodium/include/sodium -c $< -o $@

$(BUILD)/libforeign.a: $(FOREIGN:%=$(BUILD)/sources/%.o)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

# Nothing of WASI is left to import: ports/wasm/host.c answers for the host.
$(BUILD)/posenc.wasm: $(BUILD)/clients/js/module.o $(BUILD)/ports/wasm/host.o \
                      $(BUILD)/libposenc-service.a $(BUILD)/libposenc.a $(BUILD)/libforeign.a
	$(SAY) ld $@
	$(Q)$(LINK) -mexec-model=reactor -Wl,--gc-sections,--strip-all $^ -lwasi-emulated-getpid \
	    -lwasi-emulated-signal -o $@
