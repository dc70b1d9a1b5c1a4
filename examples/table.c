/* SPDX-License-Identifier: MIT */
/* A table and a bias, as files that numpy.load reads: table.npy and bias.npy. Build and run:
 *
 *     cc table.c $(pkg-config --cflags --libs posenc) -o table && ./table
 *
 * README.md says which two variables a PREFIX other than /usr/local needs. */
#include <posenc/posenc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The header of an npy file, version 1.0: 128 bytes that end with a line. */
static void header_write(FILE *file, const struct pe_output *tensor)
{
    char text[118], shape[64] = "";

    for (unsigned axis = 0; axis < tensor->rank; axis++)
        snprintf(shape + strlen(shape), sizeof(shape) - strlen(shape), "%s%zu",
                 axis > 0 ? ", " : "", tensor->shape[axis]);
    snprintf(text, sizeof(text), "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
             pe_dtype_info(tensor->dtype)->npy, shape);
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file);
    fprintf(file, "%-117s\n", text);
}

/* The first tensor of a view, whole. */
static enum pe_status tensor_save(const struct pe_view *view, const char *path,
                                  struct pe_error *err)
{
    const struct pe_output *tensor = pe_view_output(view, 0);
    const size_t row_size = tensor->row_elements * pe_dtype_info(tensor->dtype)->size;
    void *rows = malloc(tensor->rows * row_size);
    FILE *file = fopen(path, "wb");

    /* Rows can be asked for in any order, by any thread: here all of them at once. */
    if (!rows || !file) {
        perror(path);
    } else if (!pe_view_fill(view, 0, 0, tensor->rows, rows, NULL, err)) {
        header_write(file, tensor);
        fwrite(rows, row_size, tensor->rows, file);
        printf("%s: %zu rows of %zu\n", path, tensor->rows, tensor->row_elements);
    }
    free(rows);
    if (file)
        fclose(file);
    return err->status;
}

/* An encoding with its parameters is a scheme; a view of it has parameters of its own. */
static enum pe_status save(const char *name, const char *text, const char *view_name,
                           const char *view_text, const char *path, struct pe_error *err)
{
    struct pe_params params = {0}, view_params = {0};
    struct pe_scheme *scheme = NULL;
    struct pe_view *view = NULL;

    if (!pe_params_parse(&params, name, text, err) &&
        !pe_scheme_new(&scheme, pe_encoding_find(name), &params, NULL, err)) {
        const struct pe_view_type *type = pe_encoding_view(pe_encoding_find(name), view_name);
        const struct pe_view_info *info = pe_view_info(type);
        pe_params_init(&view_params, info->params, info->params_count);
        if (!pe_params_set_pairs(&view_params, view_text, err) &&
            !pe_params_finish(&view_params, err) &&
            !pe_view_new(&view, scheme, type, &view_params, PE_F32, NULL, err))
            tensor_save(view, path, err);
    }
    pe_view_free(view); /* before its scheme; NULL is fine */
    pe_scheme_free(scheme);
    pe_params_free(&view_params);
    pe_params_free(&params);
    return err->status;
}

int main(void)
{
    struct pe_error err = {0};

    if (!save("sinusoidal", "dim=512", "table", "length=1024", "table.npy", &err) &&
        !save("alibi", "heads=8", "bias", "query_length=64 causal=true", "bias.npy", &err))
        return 0;
    fprintf(stderr, "%s: %s\n", pe_status_title(err.status), err.detail);
    return 1;
}
