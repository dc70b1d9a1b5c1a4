/* SPDX-License-Identifier: MIT */
/* Written by tools/wide_constants.py. */
#ifndef CORE_EXACT_WIDE_CONSTANTS_H
#define CORE_EXACT_WIDE_CONSTANTS_H

#include <stdint.h>

/* Numbers between 1/2 and 1, cut off: limbs after the point, least first. */
enum { CONSTANT_LIMBS = 28, TWO_OVER_PI_LIMBS = 54 };

static const uint64_t quarter_pi[CONSTANT_LIMBS] = {
    0x3995497cea956ae5, 0xde2bcbf695581718, 0xb5c55df06f4c52c9, 0x9b2783a2ec07a28f,
    0xe39e772c180e8603, 0x32905e462e36ce3b, 0xf1746c08ca18217c, 0x670c354e4abc9804,
    0x9ed529077096966d, 0x1c62f356208552bb, 0x83655d23dca3ad96, 0x69163fa8fd24cf5f,
    0x98da48361c55d39a, 0xc2007cb8a163bf05, 0x49286651ece45b3d, 0xae9f24117c4b1fe6,
    0xee386bfb5a899fa5, 0x0bff5cb6f406b7ed, 0xf44c42e9a637ed6b, 0xe485b576625e7ec6,
    0x4fe1356d6d51c245, 0x302b0a6df25f1437, 0xef9519b3cd3a431b, 0x514a08798e3404dd,
    0x020bbea63b139b22, 0x29024e088a67cc74, 0xc4c6628b80dc1cd1, 0xc90fdaa22168c234,
};

static const uint64_t two_over_pi[TWO_OVER_PI_LIMBS] = {
    0x1df35be01834132e, 0x08cb7de050c017a7, 0x4d58e232cac616e3, 0x9bde2822d2e88628,
    0x5dd7de16de3b5892, 0xcdc4ef09366cd43f, 0x652289e83260bfe6, 0x9947fbacd87f7eb7,
    0xff319f6a1e666157, 0x1f001b0af1dfce19, 0x24778ad623545ab9, 0xd9d63b3884a7cb23,
    0xb07ae715175649c0, 0x64abd770f87c6357, 0x1810a3fc764d2a9d, 0xa7b4d55537f63ed7,
    0x9b0062337cd2b497, 0x467d862d71e39ac6, 0xc4ad414d2c5d000c, 0x15c614b59d19c3c2,
    0xfa6ed5772d30433b, 0x87f121907c7c246a, 0x9f3a1f35caf27f1d, 0xc33d26ef6b1e5ef8,
    0x32c2de4f98327dbb, 0xa5ff07053f7e33e8, 0xddaf44d15719053e, 0x8359c4768b961ca6,
    0x19c367cddce8092a, 0x60e27bc08c6b47c4, 0x06061556ca73a8c9, 0x8dffd8804d732731,
    0x6599855f14a06840, 0xa9e391615ee61b08, 0xf0cfbc209af4361d, 0x56033046fc7b6bab,
    0x6bfb5fb11f8d5d08, 0x3d0739f78a5292ea, 0x7527bac7ebe5f17b, 0x4f463f669e5fea2d,
    0x6d367ecf27cb09b7, 0xef2f118b5a0a6d1f, 0x1ff897ffde05980f, 0x9c845f8bbdf9283b,
    0x3991d639835339f4, 0xe99c7026b45f7e41, 0xe88235f52ebb4484, 0xfe1deb1cb129a73e,
    0x06492eea09d1921c, 0xb7246e3a424dd2e0, 0xfe5163abdebbc561, 0xdb6295993c439041,
    0xfc2757d1f534ddc0, 0xa2f9836e4e441529,
};

static const uint64_t ln2_limbs[CONSTANT_LIMBS] = {
    0x0c480a5417350d2c, 0x074db6015cfe7aa3, 0x6a9c7f8a5e148e82, 0x25669b333564a337,
    0x4c1a1e0bd1d6095d, 0xcccc4e659393514c, 0xc943e732b479cd33, 0x17460775db8990e5,
    0x7d2e23de1400b396, 0xee569d6dfc1efa15, 0x610d30f88fe551a2, 0x07f4ca11fb5bfb90,
    0xda2d97c50f3fd5c6, 0x655fa1872f20e3a2, 0xf5dfa6bd38303248, 0x72ce87b19d6548ca,
    0x256fa0ec7657f74b, 0xb9ea9bc3b136603b, 0x1acbda11317c387e, 0x3e96ca16224ae8c5,
    0x27573b291169b825, 0xed2eae35c1382144, 0x559552fb4afa1b10, 0xe7b876206debac98,
    0x8a0d175b8baafa2b, 0x40f343267298b62d, 0xc9e3b39803f2f6af, 0xb17217f7d1cf79ab,
};

#endif
