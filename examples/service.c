/* SPDX-License-Identifier: MIT */
/* What posencd would answer to a GET, without a server: the body on the standard output. Build and
 * run:
 *
 *     cc service.c $(pkg-config --cflags --libs posenc-service) -o service
 *     ./service '/v1/encodings/rope/table?dim=128&length=4096&format=npy' >rope.npy
 *
 * README.md says which two variables a PREFIX other than /usr/local needs. */
#include <posenc/service.h>
#include <stdio.h>

static bool write_out(void *file, const void *bytes, size_t size)
{
    return fwrite(bytes, 1, size, file) == size;
}

/* The status, or 0 where there is no response. */
static int get(struct pe_service *service, const char *target, struct pe_error *err)
{
    const struct pe_request_head head = {.size = sizeof(head), .method = "GET", .target = target};
    struct pe_request *request;
    int status = 0;

    if (!pe_request_new(&request, service, &head, err)) {
        status = pe_request_finish(request)->status;
        err->status = pe_request_drain(request, write_out, status < 300 ? stdout : stderr);
    }
    pe_request_free(request);
    return status;
}

int main(int argc, char **argv)
{
    struct pe_error err = {0};
    struct pe_service *service;
    int status = 0;

    if (!pe_service_new(&service, NULL, &err))
        status = get(service, argc > 1 ? argv[1] : "/v1", &err);
    if (err.status)
        fprintf(stderr, "%s: %s\n", pe_status_title(err.status), err.detail);
    pe_service_free(service);
    return status == 200 && !err.status ? 0 : 1;
}
