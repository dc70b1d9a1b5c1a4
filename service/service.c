/* SPDX-License-Identifier: MIT */
#include "service/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Stands for `stdin` in jansson's copy inside the shared library, which only compares files with
 * it. The archive is compiled for programs and cannot name the system's variable from a shared
 * library; see JANSSON in the Makefile. */
__attribute__((visibility("hidden"))) FILE *svc_no_stdin;

/* The interval in which requests trim memory and scan for tables. */
enum { TEND_MS = 2000 };

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

enum pe_status svc_fail(struct pe_error *err, enum pe_status status, const char *where,
                        const char *detail)
{
    if (err->status)
        return err->status;
    err->status = status;
    snprintf(err->where, sizeof(err->where), "%s", where);
    snprintf(err->detail, sizeof(err->detail), "%s", detail);
    return status;
}

/* ---- settings -------------------------------------------------------------------------------- */

static const struct svc_flag *flag_find(const char *name)
{
    for (size_t i = 0; i < SVC_FLAGS; i++)
        if (name && strcmp(svc_flags[i].name, name) == 0)
            return &svc_flags[i];
    return NULL;
}

static enum pe_status setting_read(struct svc_settings *settings, const struct pe_setting *setting,
                                   struct pe_error *err)
{
    const struct svc_flag *flag = flag_find(setting->name);
    char where[sizeof(err->where)], detail[sizeof(err->detail)];

    snprintf(where, sizeof(where), "setting:%.60s", setting->name ? setting->name : "");
    snprintf(detail, sizeof(detail), "there is no setting of this name");
    if (!flag)
        return svc_fail(err, PE_NOT_FOUND, where, detail);
    if (setting->value && svc_flag_set(settings, flag, setting->value))
        return PE_OK;
    snprintf(detail, sizeof(detail), "%s takes %s, got '%.60s'", flag->name,
             svc_flag_takes(flag->type), setting->value ? setting->value : "");
    return svc_fail(err, PE_INVALID, where, detail);
}

static enum pe_status settings_read(struct svc_settings *settings,
                                    const struct pe_service_options *options, struct pe_error *err)
{
    const char *wrong;

    svc_flags_default(settings, svc_flags, SVC_FLAGS);
    if (options && options->size < sizeof(*options))
        return svc_fail(err, PE_INVALID, "",
                        "size is not set to sizeof(struct pe_service_options)");
    for (size_t i = 0; options && i < options->settings_count; i++)
        if (setting_read(settings, &options->settings[i], err))
            return err->status;
    wrong = svc_settings_complete(settings);
    return wrong ? svc_fail(err, PE_OUT_OF_RANGE, "", wrong) : PE_OK;
}

const struct pe_setting_info *pe_service_setting(size_t index)
{
    static const struct pe_setting_info infos[] = {
#define FLAG(field, flag, type, fallback, doc) {flag, SVC_TAKES_##type, fallback, doc},
#include "service/settings.def"
#undef FLAG
    };

    return index < sizeof(infos) / sizeof(infos[0]) ? &infos[index] : NULL;
}

/* ---- the service ----------------------------------------------------------------------------- */

static void log_forward(void *context, const char *text)
{
    const struct pe_service *service = context;

    service->log(service->context, text);
}

static enum pe_status api_start(struct pe_service *service, const struct svc_settings *settings,
                                struct pe_error *err)
{
    char *flags = svc_flags_json(settings, svc_flags, SVC_FLAGS);
    struct api_settings to = {.host = {.context = service}, .flags_json = flags};
    struct pe_error failed = {0};

    svc_settings_give(settings, &to);
    if (service->log)
        to.host.log = log_forward;
    api_new(&service->api, &to, &failed);
    free(flags);
    if (failed.status == PE_OK)
        return PE_OK;
    return svc_fail(err, failed.status == PE_OUT_OF_MEMORY ? PE_OUT_OF_MEMORY : PE_INTERNAL,
                    failed.where, failed.detail);
}

enum pe_status pe_service_new(struct pe_service **out, const struct pe_service_options *options,
                              struct pe_error *err)
{
    struct svc_settings settings;
    struct pe_service *service;

    *out = NULL;
    if (settings_read(&settings, options, err))
        return err->status;
    service = calloc(1, sizeof(*service));
    if (!service)
        return svc_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the service");
    pthread_mutex_init(&service->starting, NULL);
    service->log = options ? options->log : NULL;
    service->context = options ? options->context : NULL;
    service->threads = svc_settings_threads(&settings);
    service->poll_ms = settings.tables_poll;
    service->tended_ms = now_ms();
    if (api_start(service, &settings, err)) {
        pe_service_free(service);
        return err->status;
    }
    *out = service;
    return PE_OK;
}

void pe_service_free(struct pe_service *service)
{
    if (!service)
        return;
    pe_pool_free(service->pool);
    api_free(service->api);
    pthread_mutex_destroy(&service->starting);
    free(service);
}

struct pe_pool *svc_pool(struct pe_service *service)
{
    struct pe_error err = {0};
    struct pe_pool *pool;

    if (service->threads == 1)
        return NULL;
    pthread_mutex_lock(&service->starting);
    if (!service->started && pe_pool_new(&service->pool, service->threads, false, &err) == PE_OK)
        api_pool_set(service->api, service->pool);
    service->started = true;
    pool = service->pool;
    pthread_mutex_unlock(&service->starting);
    return pool;
}

void pe_service_tend(struct pe_service *service)
{
    atomic_store(&service->tended_ms, now_ms());
    api_trim(service->api);
    if (service->poll_ms > 0)
        api_scan(service->api);
}

void svc_tend_if_due(struct pe_service *service)
{
    uint64_t before = atomic_load(&service->tended_ms);
    const uint64_t now = now_ms();

    if (now - before >= TEND_MS &&
        atomic_compare_exchange_strong(&service->tended_ms, &before, now))
        pe_service_tend(service);
}
