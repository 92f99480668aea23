#pragma once
#include <libxml/xmlversion.h>
/* As in CXML2: both modules must agree on libxml2's structures. */
#undef LIBXML_ICU_ENABLED
#include <libxml/relaxng.h>
#include <linux/capability.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include "tracing.h"

/* Calls that glibc declares only under _GNU_SOURCE, which would also change structures. */
int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);
int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *folder);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first);
int posix_openpt(int flags);
int grantpt(int terminal);
int unlockpt(int terminal);
int ptsname_r(int terminal, char *name, size_t size);
#include <sys/syscall.h>
#include <unistd.h>

// _GNU_SOURCE is not defined here: it changes structures that other modules import without it.

/// The bytes that were sent and are not acknowledged yet (tcp(7), SIOCOUTQ); -1 on an error.
static inline int test_unacknowledged(int socket) {
    int count = 0;
    return ioctl(socket, SIOCOUTQ, &count) == 0 ? count : -1;
}

/// Accepts a connection that a child process does not inherit (accept4(2)).
static inline int test_accept(int listener) {
    return (int)syscall(SYS_accept4, listener, NULL, NULL, SOCK_CLOEXEC);
}

/// Starts a thread that nobody joins (pthread_create(3)); an error number, or 0.
static inline int test_start_thread(void *_Nullable (*_Nonnull body)(void *_Nullable),
                                    void *_Nullable context) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int failure = pthread_create(&thread, &attributes, body, context);
    pthread_attr_destroy(&attributes);
    return failure;
}

/// Lets a child begin in a folder (posix_spawn_file_actions_addchdir_np(3)).
static inline int test_begin_in(posix_spawn_file_actions_t *actions, const char *folder) {
    return posix_spawn_file_actions_addchdir_np(actions, folder);
}

/// Swaps what two names stand for in one step (renameat2(2), RENAME_EXCHANGE); 0, or -1 and errno.
static inline int test_exchange(int folder, const char *name, int other, const char *other_name) {
    return (int)syscall(SYS_renameat2, folder, name, other, other_name, 1u << 1);
}

/// Gives the calling thread, and what it starts, mounts of their own that go with them
/// (unshare(2), CLONE_NEWNS); 0, or an error number.
static inline int test_keep_mounts_private(void) {
    if (syscall(SYS_unshare, 0x00020000) != 0) return errno;
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 ? 0 : errno;
}

/// Ends a file system at once, without a flush of its log (EXT4_IOC_SHUTDOWN, XFS_IOC_GOINGDOWN: the
/// same number, NOLOGFLUSH); 0, or an error number.
static inline int test_cut_power(int descriptor) {
    unsigned int flags = 2;
    return ioctl(descriptor, _IOR('X', 125, unsigned int), &flags) == 0 ? 0 : errno;
}

/// Writes out a whole file system (syncfs(2)).
static inline int test_flush_all(int descriptor) { return (int)syscall(SYS_syncfs, descriptor); }

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/un.h>

/// A datagram socket at a path (unix(7)); -1 on an error.
static inline int test_bind_datagram(const char *_Nonnull path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t count = strlen(path);
    if (count >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, count);
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    close(descriptor);
    return -1;
}

/// A connection to a socket at a path (unix(7)); -1 on an error.
static inline int test_connect_local(const char *_Nonnull path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t count = strlen(path);
    if (count >= sizeof address.sun_path) return -1;
    memcpy(address.sun_path, path, count);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    close(descriptor);
    return -1;
}

/// The primary side of a new pseudo-terminal (posix_openpt(3)); -1 on an error.
static inline int test_open_terminal(char *_Nonnull name, size_t size) {
    int primary = posix_openpt(O_RDWR | O_NOCTTY);
    if (primary < 0) return -1;
    if (fcntl(primary, F_SETFD, FD_CLOEXEC) == 0 && grantpt(primary) == 0 &&
        unlockpt(primary) == 0 && ptsname_r(primary, name, size) == 0)
        return primary;
    close(primary);
    return -1;
}

/// POSIX_SPAWN_SETSID: the process leads a session of its own.
static const short test_spawn_in_session = 0x80;

/// Takes the right to pass over permission bits from the calling thread and what it starts, or gives it
/// back (capset(2), CAP_DAC_OVERRIDE); 0, or an error number.
static inline int test_override(bool is_on) {
    struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct data[2];
    unsigned int bits = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH;
    if (syscall(SYS_capget, &header, data) != 0) return errno;
    data[0].effective = is_on ? data[0].permitted : data[0].effective & ~bits;
    return syscall(SYS_capset, &header, data) == 0 ? 0 : errno;
}
