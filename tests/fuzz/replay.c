/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

/* replay FOLDER: runs each target on the files of FOLDER/TARGET/, with any compiler. Prints each
 * file before it runs; a failure ends the process, so the last one printed is the culprit. */

static void file_run(const char *path, void (*target)(const uint8_t *data, size_t size))
{
    FILE *file = fopen(path, "rb");
    long size = 0;
    uint8_t *data;

    FUZZ_CHECK(file && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0);
    rewind(file);
    data = malloc((size_t)size + !size);
    FUZZ_CHECK(data && fread(data, 1, (size_t)size, file) == (size_t)size);
    fclose(file);
    printf("%s\n", path);
    fflush(stdout);
    fuzz_run(target, data, (size_t)size);
    free(data);
}

static unsigned folder_run(const char *folder, const char *name,
                           void (*target)(const uint8_t *data, size_t size))
{
    char path[4096];
    unsigned count = 0;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    DIR *listed = opendir(path);
    for (struct dirent *entry; listed && (entry = readdir(listed));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s/%s", folder, name, entry->d_name);
        file_run(path, target);
        count++;
    }
    if (listed)
        closedir(listed);
    return count;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*target)(const uint8_t *data, size_t size);
    } targets[] = {
#define TARGET(name) {#name, fuzz_##name},
#include "tests/fuzz/targets.def"
#undef TARGET
    };
    unsigned count = 0;

    for (size_t i = 0; argc == 2 && i < sizeof(targets) / sizeof(targets[0]); i++)
        count += folder_run(argv[1], targets[i].name, targets[i].target);
    printf("%u inputs replayed\n", count);
    return count == 0;
}
