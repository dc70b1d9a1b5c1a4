TEST(magnitudes)
{
    struct analysed plain = analysed_new("rope", "dim=2", "decay", "max_offset=9", PE_F64);
    struct analysed a =
        analysed_new("rope", "dim=2", "decay", "max_offset=9 magnitude=true", PE_F64);

    for (size_t i = 0; i < 10; i++)
        ck_assert_double_eq(a.outputs[0][i], fabs(plain.outputs[0][i]));
    analysed_free(&plain);
    analysed_free(&a);
}
