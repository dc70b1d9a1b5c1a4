/* SPDX-License-Identifier: MIT */
#ifndef PORTS_WASM_JANSSON_PRIVATE_CONFIG_H
#define PORTS_WASM_JANSSON_PRIVATE_CONFIG_H

/* What jansson's configure would find, for its sources: the service seeds its hashes, so it needs
 * no file of random bytes and no time of day. */

#define HAVE_STDINT_H 1

#endif
