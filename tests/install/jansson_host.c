/* SPDX-License-Identifier: MIT */
/* A program that uses jansson itself, before, beside and behind the service. */
#include <jansson.h>
#include <posenc/service.h>
#include <stdio.h>
#include <stdlib.h>

static int ask(struct pe_service *service)
{
    const struct pe_request_head head = {.size = sizeof(head), .method = "GET", .target = "/v1"};
    struct pe_request *request;
    struct pe_error err = {0};
    int status = 0;

    if (!pe_request_new(&request, service, &head, &err))
        status = pe_request_finish(request)->status;
    pe_request_free(request);
    return status;
}

int main(void)
{
    json_t *early = json_pack("{s:[i,i]}", "x", 1, 2);
    struct pe_service *service;
    struct pe_error err = {0};
    char *text;

    if (pe_service_new(&service, NULL, &err))
        return 1;
    json_object_set_new(early, "status", json_integer(ask(service)));
    text = json_dumps(early, 0);
    json_decref(early);
    pe_service_free(service);
    if (text)
        puts(text);
    free(text);
    return 0;
}
