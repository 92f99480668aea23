/* Preloaded into a program under test (ld.so(8), LD_PRELOAD): a disk that lies to it.

   LYING_DISK="HOW NTH PLACE" lets writes to PLACE (part, index, any) succeed without having
   happened: HOW is drop (nothing is written), half (only the first half is), zero (zeros are) or
   flip (one bit is another). NTH is which of those writes it is, from 1; 0 is all of them. Each lie
   adds a byte to the file LYING_DISK_LOG.
   LYING_DISK_HANGS="CALL PREFIX" has CALL (openat, pread) wait for ever at files whose paths begin so;
   with the word slow for CALL, they are read at 20 KiB a second.
   LYING_DISK_STOP stops the process before main, so that a tracer can take hold of it there.
   LYING_DISK_FULL names a file that gets the wall clock's nanoseconds of each write that the disk
   had no room for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char how[8], place[8], hanging[8], prefix[4096];
static long nth = -1;
static int log_file = -1, full_file = -1;
static atomic_long seen;

static int open_log(const char *variable) {
    const char *path = getenv(variable);
    return path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : -1;
}

__attribute__((constructor)) static void begin(void) {
    const char *lie = getenv("LYING_DISK");
    if (lie) {
        log_file = open_log("LYING_DISK_LOG");
        if (sscanf(lie, "%7s %ld %7s", how, &nth, place) != 3) abort();
    }
    const char *hang = getenv("LYING_DISK_HANGS");
    if (hang && sscanf(hang, "%7s %4095s", hanging, prefix) != 2) abort();
    full_file = open_log("LYING_DISK_FULL");
    if (getenv("LYING_DISK_STOP")) {
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        raise(SIGSTOP);
    }
}

static ssize_t plain(int file, const void *bytes, size_t count, off_t offset) {
    return offset < 0 ? syscall(SYS_write, file, bytes, count)
                      : syscall(SYS_pwrite64, file, bytes, count, offset);
}

static int is_place(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0 || path[0] != '/') return 0;
    path[length] = 0;
    int is_part = strstr(path, "/tmp/") && length > 5 && !strcmp(path + length - 5, ".part");
    /* New bytes that have no name yet: "FOLDER/#INODE (deleted)". */
    const char *name = strrchr(path, '/') + 1;
    is_part = is_part || (name[0] == '#' && strstr(name, " (deleted)"));
    /* Not index.sqlite-shm: that is memory which processes share, and no disk. */
    int is_index = strstr(path, "/.mirror/index") != NULL && !strstr(path, "-shm");
    if (!strcmp(place, "part")) return is_part;
    if (!strcmp(place, "index")) return is_index;
    return is_part || is_index;
}

/* Writes what the lie leaves of the bytes. */
static void lie(int file, const unsigned char *bytes, size_t count, off_t offset) {
    if (!strcmp(how, "half")) plain(file, bytes, count / 2, offset);
    if (!strcmp(how, "drop") || !strcmp(how, "half")) return;
    unsigned char *other = malloc(count);
    if (!other) abort();
    memcpy(other, bytes, count);
    if (!strcmp(how, "zero")) memset(other, 0, count);
    if (!strcmp(how, "flip")) other[count / 2] ^= 0x10;
    plain(file, other, count, offset);
    free(other);
}

static ssize_t put(int file, const void *bytes, size_t count, off_t offset) {
    if (nth >= 0 && count > 0 && is_place(file)) {
        long number = atomic_fetch_add(&seen, 1) + 1;
        if (nth == 0 || number == nth) {
            lie(file, bytes, count, offset);
            syscall(SYS_write, log_file, "!", 1);
            return (ssize_t)count;
        }
    }
    ssize_t done = plain(file, bytes, count, offset);
    if (done < 0 && errno == ENOSPC && full_file >= 0) {
        struct timespec now;
        char line[64];
        clock_gettime(CLOCK_REALTIME, &now);
        int length = snprintf(line, sizeof line, "%lld\n", now.tv_sec * 1000000000LL + now.tv_nsec);
        syscall(SYS_write, full_file, line, length);
        errno = ENOSPC;
    }
    return done;
}

ssize_t write(int file, const void *bytes, size_t count) { return put(file, bytes, count, -1); }

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    return put(file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    return put(file, bytes, count, offset);
}

static int is_meant(const char *path, const char *call) {
    return !strcmp(hanging, call) && !strncmp(path, prefix, strlen(prefix));
}

static void hang_at(const char *path, const char *call) {
    if (is_meant(path, call))
        for (;;) pause();
}

static ssize_t get(int file, void *bytes, size_t count, off_t offset) {
    char link[64], path[4096] = "";
    if (hanging[0]) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        if (readlink(link, path, sizeof path - 1) > 0) {
            hang_at(path, "pread");
            if (is_meant(path, "slow")) usleep((useconds_t)(count * 1000000 / (20 << 10)));
        }
    }
    return syscall(SYS_pread64, file, bytes, count, offset);
}

ssize_t pread(int file, void *bytes, size_t count, off_t offset) {
    return get(file, bytes, count, offset);
}

ssize_t pread64(int file, void *bytes, size_t count, off64_t offset) {
    return get(file, bytes, count, offset);
}

int openat(int folder, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    hang_at(path, "openat");
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}
