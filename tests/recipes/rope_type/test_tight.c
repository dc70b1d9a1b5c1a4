/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/scheme_fixture.h"

TEST(test_tight)
{
    struct viewed viewed = viewed_new("rope", "dim=4 rope_type=tight factor=3 base=100",
                                      "frequencies", "", NULL, PE_F32);
    const float *inv_freq = viewed.data;

    ck_assert(inv_freq[0] == 3 && inv_freq[1] == 0.3f);
    viewed_free(&viewed);
}
