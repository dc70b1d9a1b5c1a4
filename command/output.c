/* SPDX-License-Identifier: MIT */
#include "command/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_json(const char *media_type)
{
    const size_t length = strcspn(media_type, ";");

    return length >= 4 && strncmp(media_type + length - 4, "json", 4) == 0;
}

static bool is_text(const char *media_type)
{
    return is_json(media_type) || strncmp(media_type, "text/", 5) == 0 ||
           strstr(media_type, "yaml");
}

static enum cmd_exit file_fail(const char *path, int error)
{
    cmd_say("%s: %s", path, strerror(error));
    return CMD_FILES;
}

/* What may be read and written by others, as of any new file. */
static void mode_set(int file)
{
    const mode_t mask = umask(0);

    umask(mask);
    fchmod(file, 0666 & ~mask);
}

/* A file beside the one that is wanted; what is no plain file is written itself. */
static enum cmd_exit file_open(struct cmd_output *output)
{
    struct stat there;

    if (stat(output->path, &there) == 0 && !S_ISREG(there.st_mode)) {
        output->file = open(output->path, O_WRONLY | O_CLOEXEC);
        return output->file < 0 ? file_fail(output->path, errno) : CMD_DONE;
    }
    if (asprintf(&output->made, "%s.XXXXXX", output->path) < 0) {
        output->made = NULL;
        return file_fail(output->path, ENOMEM);
    }
    output->file = mkostemp(output->made, O_CLOEXEC);
    if (output->file < 0) {
        const int error = errno;
        free(output->made);
        output->made = NULL;
        return file_fail(output->path, error);
    }
    cmd_watch_file(output->watch, output->made);
    mode_set(output->file);
    return CMD_DONE;
}

enum cmd_exit cmd_output_open(struct cmd_output *output, const char *path, const char *media_type,
                              struct cmd_watch *watch)
{
    *output = (struct cmd_output){.watch = watch, .path = path, .file = STDOUT_FILENO};
    if (path)
        return file_open(output);
    if (!isatty(STDOUT_FILENO))
        return CMD_DONE;
    if (!is_text(media_type)) {
        cmd_say("the answer is %s, which is not for a terminal; -o FILE writes it to a file, "
                "format=json prints numbers",
                media_type);
        return CMD_USAGE;
    }
    output->indents = is_json(media_type);
    cmd_watch_hide(watch); /* the answer itself is seen */
    return CMD_DONE;
}

/* So much at once, so that progress is seen of a pipe whose reader takes its time. */
enum { WRITE_MAX = 64 << 10 };

static bool bytes_write(struct cmd_output *output, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t written = write(output->file, bytes, size < WRITE_MAX ? size : WRITE_MAX);
        if (written < 0 && errno != EINTR) {
            output->error = errno;
            return false;
        }
        if (written > 0) {
            bytes += written;
            size -= (size_t)written;
            atomic_fetch_add(&output->watch->done, (uint64_t)written);
        }
    }
    return true;
}

static bool lines_write(struct cmd_output *output, const char *bytes, size_t size)
{
    char room[4096];
    size_t used = 0;

    for (size_t i = 0; i < size; i++) {
        used += cmd_indent_next(&output->indent, bytes[i], room + used);
        if (used <= sizeof(room) - CMD_INDENT_MAX)
            continue;
        if (!bytes_write(output, room, used))
            return false;
        used = 0;
    }
    return bytes_write(output, room, used);
}

bool cmd_output_put(void *context, const void *bytes, size_t size)
{
    struct cmd_output *output = context;
    return output->indents ? lines_write(output, bytes, size) : bytes_write(output, bytes, size);
}

enum cmd_exit cmd_output_close(struct cmd_output *output, bool whole)
{
    const char *path = output->path ? output->path : "standard output";

    if (output->path && close(output->file) != 0 && !output->error)
        output->error = errno;
    if (output->made && (!whole || output->error || rename(output->made, path) != 0)) {
        if (whole && !output->error)
            output->error = errno;
        unlink(output->made);
    }
    if (output->path)
        cmd_watch_file(output->watch, NULL);
    free(output->made);
    return output->error ? file_fail(path, output->error) : CMD_DONE;
}
