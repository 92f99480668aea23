#pragma once
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

/* What Swift cannot import: variadic functions, macros with casts, calls that glibc declares only
   under _GNU_SOURCE or not at all. _GNU_SOURCE is not defined here: it changes structures that
   other modules have imported without it. Calls return their result, or the error number negated. */

#define LINUX_RESULT(result) \
    ({ \
        long linux_result = (result); \
        linux_result < 0 ? -(long)errno : linux_result; \
    })

enum {
    LINUX_AT_NO_AUTOMOUNT = 0x800,
    LINUX_AT_EMPTY_PATH = 0x1000,
    LINUX_O_TMPFILE = 020000000 | O_DIRECTORY,
    LINUX_RENAME_NOREPLACE = 1,
    LINUX_RENAME_EXCHANGE = 2,
    LINUX_RESOLVE_NO_MAGICLINKS = 0x02,
    LINUX_RESOLVE_NO_SYMLINKS = 0x04,
    LINUX_RESOLVE_BENEATH = 0x08,
};

/* struct open_how of openat2(2). */
struct linux_open_how {
    uint64_t flags;
    uint64_t mode;
    uint64_t resolve;
};

static inline int linux_openat2(int folder, const char *path, uint64_t flags, uint64_t mode,
                                uint64_t resolve) {
    struct linux_open_how how = {.flags = flags, .mode = mode, .resolve = resolve};
    return (int)LINUX_RESULT(syscall(SYS_openat2, folder, path, &how, sizeof how));
}

static inline int linux_openat(int folder, const char *path, int flags, mode_t mode) {
    return (int)LINUX_RESULT(openat(folder, path, flags, mode));
}

/* Sets what is waited for of a descriptor, whether a set of epoll(7) has it or not. */
static inline int linux_epoll_set(int set, int descriptor, uint32_t events) {
    struct epoll_event event = {.events = events, .data.fd = descriptor};
    long result = LINUX_RESULT(epoll_ctl(set, EPOLL_CTL_MOD, descriptor, &event));
    if (result != -ENOENT) return (int)result;
    return (int)LINUX_RESULT(epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event));
}

/* Takes a descriptor out of a set, where it has it. */
static inline void linux_epoll_remove(int set, int descriptor) {
    epoll_ctl(set, EPOLL_CTL_DEL, descriptor, NULL);
}

/* Opens a file without a name on a folder's file system: O_TMPFILE of open(2). */
static inline int linux_open_unnamed(int folder, mode_t mode) {
    return (int)LINUX_RESULT(openat(folder, ".", LINUX_O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
}

/* Gives an open file a name: linkat(2). Without CAP_DAC_READ_SEARCH older kernels want it by /proc. */
static inline int linux_link_open(int file, int folder, const char *name) {
    if (linkat(file, "", folder, name, LINUX_AT_EMPTY_PATH) == 0) return 0;
    if (errno != ENOENT && errno != EPERM && errno != EINVAL) return -errno;
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return (int)LINUX_RESULT(linkat(AT_FDCWD, path, folder, name, AT_SYMLINK_FOLLOW));
}

static inline int linux_renameat2(int from_folder, const char *from, int to_folder, const char *to,
                                  unsigned int flags) {
    return (int)LINUX_RESULT(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

/* Makes the destination share the source's extents: FICLONE of ioctl_ficlone(2). */
static inline int linux_ficlone(int destination, int source) {
    return (int)LINUX_RESULT(ioctl(destination, _IOW(0x94, 9, int), source));
}

/* Copies between the same offsets of both; their positions stay. */
static inline int64_t linux_copy_file_range(int source, int destination, int64_t offset,
                                            size_t length) {
    int64_t from = offset, to = offset;
    return LINUX_RESULT(
        syscall(SYS_copy_file_range, source, &from, destination, &to, length, 0));
}

static inline int linux_syncfs(int descriptor) {
    return (int)LINUX_RESULT(syscall(SYS_syncfs, descriptor));
}

static inline int linux_flock(int descriptor, int operation) {
    return (int)LINUX_RESULT(flock(descriptor, operation));
}

/* The type of the file system as statfs(2) names it. */
static inline int64_t linux_file_system_type(int descriptor) {
    struct statfs result;
    if (fstatfs(descriptor, &result) < 0) return -errno;
    return (int64_t)(uint32_t)result.f_type;
}

/* Reserves blocks without making the file longer (FALLOC_FL_KEEP_SIZE), so that it never looks
   complete. */
static inline int linux_reserve(int descriptor, int64_t offset, int64_t length) {
    return (int)LINUX_RESULT(syscall(SYS_fallocate, descriptor, 1, offset, length));
}

/* sync_file_range(2) with SYNC_FILE_RANGE_WRITE: begins to write, and waits for nothing that is
   being written already. */
static inline int linux_start_writeback(int descriptor, int64_t offset, int64_t length) {
    return (int)LINUX_RESULT(syscall(SYS_sync_file_range, descriptor, offset, length, 2));
}

/* struct statx of statx(2). */
struct linux_time {
    int64_t seconds;
    uint32_t nanoseconds;
    int32_t reserved;
};

struct linux_status {
    uint32_t mask;
    uint32_t block_size;
    uint64_t attributes;
    uint32_t links;
    uint32_t user;
    uint32_t group;
    uint16_t mode;
    uint16_t reserved;
    uint64_t inode;
    uint64_t size;
    uint64_t blocks;
    uint64_t attributes_mask;
    struct linux_time accessed;
    struct linux_time created;
    struct linux_time changed;
    struct linux_time modified;
    uint32_t special_major;
    uint32_t special_minor;
    uint32_t device_major;
    uint32_t device_minor;
    uint64_t spare[14];
};

/* statx(2) with STATX_BASIC_STATS. */
static inline int linux_statx(int folder, const char *path, int flags,
                              struct linux_status *result) {
    return (int)LINUX_RESULT(syscall(SYS_statx, folder, path, flags, 0x7ffU, result));
}

/* Sets the modification time in whole seconds and leaves the access time (futimens(3)). */
static inline int linux_set_modified(int descriptor, int64_t seconds) {
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = seconds}};
    return (int)LINUX_RESULT(futimens(descriptor, times));
}

static inline int linux_errno(void) { return errno; }

/* The names of a file's extended attributes, each ended by NUL (flistxattr(2)). */
static inline long linux_list_attributes(int descriptor, char *names, size_t size) {
    return LINUX_RESULT(flistxattr(descriptor, names, size));
}

/* The value of an extended attribute (fgetxattr(2)). */
static inline long linux_get_attribute(int descriptor, const char *name, void *value, size_t size) {
    return LINUX_RESULT(fgetxattr(descriptor, name, value, size));
}

/* Names the calling thread; the kernel cuts the name to 15 bytes. */
static inline void linux_name_thread(const char *name) {
    prctl(PR_SET_NAME, name, 0, 0, 0);
}

// A file without a name, in memory (memfd_create(2)); the descriptor, or -errno.
static inline int linux_memfd(const char *name) {
    int number = (int)syscall(SYS_memfd_create, name, 1u /* MFD_CLOEXEC */);
    return number < 0 ? -errno : number;
}

/* A socket that hears of added addresses and routes; negative where the system gives none. */
static inline int linux_network_watch(void) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (descriptor < 0) return -1;
    struct sockaddr_nl address = {
        .nl_family = AF_NETLINK,
        .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE |
                     RTMGRP_IPV6_ROUTE,
    };
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    close(descriptor);
    return -1;
}

/* Reads all that such a socket has; whether an address or a route was added. */
static inline int linux_network_returned(int descriptor) {
    int returned = 0;
    _Alignas(struct nlmsghdr) char buffer[8192];
    for (;;) {
        ssize_t count = recv(descriptor, buffer, sizeof buffer, 0);
        /* What did not fit was lost: something was said. */
        if (count < 0 && errno == ENOBUFS) {
            returned = 1;
            continue;
        }
        if (count <= 0) return returned;
        int left = (int)count;
        for (struct nlmsghdr *message = (struct nlmsghdr *)buffer; NLMSG_OK(message, left);
             message = NLMSG_NEXT(message, left))
            if (message->nlmsg_type == RTM_NEWADDR || message->nlmsg_type == RTM_NEWROUTE)
                returned = 1;
    }
}

/* NetworkManager's property Metered, asked for over the system bus (sd-bus(3)). libsystemd is loaded
   for it; its declarations are repeated here, so that nobody needs its headers. Waits a second at
   most once it has the bus. 0, or -1 with the reason in `problem`. */
static inline int linux_network_metered(uint32_t *metered, char *problem, size_t room) {
    struct error { const char *name, *message; int owned; } error = {NULL, NULL, 0};
    void *library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(problem, room, "%s", dlerror());
        return -1;
    }
    int (*open_bus)(void **) = (int (*)(void **))dlsym(library, "sd_bus_open_system");
    int (*set_timeout)(void *, uint64_t) =
        (int (*)(void *, uint64_t))dlsym(library, "sd_bus_set_method_call_timeout");
    int (*get)(void *, const char *, const char *, const char *, const char *, struct error *, char,
               void *) =
        (int (*)(void *, const char *, const char *, const char *, const char *, struct error *, char,
                 void *))dlsym(library, "sd_bus_get_property_trivial");
    void (*free_error)(struct error *) = (void (*)(struct error *))dlsym(library, "sd_bus_error_free");
    void *(*close_bus)(void *) = (void *(*)(void *))dlsym(library, "sd_bus_flush_close_unref");
    if (!open_bus || !set_timeout || !get || !free_error || !close_bus) {
        snprintf(problem, room, "libsystemd lacks sd-bus");
        return -1;
    }
    void *bus = NULL;
    int result = open_bus(&bus);
    if (result < 0) {
        snprintf(problem, room, "the system bus cannot be reached: %s", strerror(-result));
        return -1;
    }
    set_timeout(bus, 1000000);
    result = get(bus, "org.freedesktop.NetworkManager", "/org/freedesktop/NetworkManager",
                 "org.freedesktop.NetworkManager", "Metered", &error, 'u', metered);
    if (result < 0)
        snprintf(problem, room, "%s", error.message ? error.message : strerror(-result));
    free_error(&error);
    close_bus(bus);
    return result < 0 ? -1 : 0;
}

/* Sends a message to a service manager (sd_notify(3)); 0, or the error number negated. A name that
   begins with @ is one of the abstract socket addresses (unix(7)). */
static inline int linux_notify(const char *name, const void *message, size_t length) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t count = strlen(name);
    if (count == 0 || count >= sizeof address.sun_path) return -ENAMETOOLONG;
    memcpy(address.sun_path, name, count);
    if (name[0] == '@') address.sun_path[0] = 0;
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -errno;
    ssize_t sent = sendto(descriptor, message, length, MSG_NOSIGNAL, (struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + count));
    int result = sent < 0 ? -errno : 0;
    close(descriptor);
    return result;
}

/* A timer of the wall clock that also ends when the clock is set (timerfd_create(2)). */
static inline int linux_alarm_make(void) {
    return LINUX_RESULT(timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK));
}

/* Sets such a timer to a time in milliseconds since 1970. */
static inline int linux_alarm_set(int descriptor, int64_t milliseconds) {
    struct itimerspec time = {.it_value = {.tv_sec = milliseconds / 1000,
                                           .tv_nsec = milliseconds % 1000 * 1000000}};
    return LINUX_RESULT(timerfd_settime(
        descriptor, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &time, NULL));
}

/* What ended such a timer: 1 its time, 0 nothing yet, -ECANCELED a set clock. */
static inline int linux_alarm_read(int descriptor) {
    uint64_t count = 0;
    if (read(descriptor, &count, sizeof count) == (ssize_t)sizeof count) return 1;
    return errno == EAGAIN ? 0 : -errno;
}

/* Milliseconds since the system began, the time in which it slept included. */
static inline int64_t linux_boot_time(void) {
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* A set of watched folders (inotify(7)); events wait in it until they are read. */
static inline int linux_folder_watch(void) {
    return LINUX_RESULT(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
}

/* Watches a folder for names that are written, moved, made or removed; the number of the watch. */
static inline int linux_folder_watch_add(int descriptor, const char *path) {
    return LINUX_RESULT(inotify_add_watch(
        descriptor, path,
        IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_DELETE_SELF |
            IN_MOVE_SELF | IN_ONLYDIR));
}

/* Watches it no more. */
static inline void linux_folder_watch_remove(int descriptor, int watch) {
    inotify_rm_watch(descriptor, watch);
}

static inline int linux_local_address(struct sockaddr_un *address, const char *path) {
    size_t count = strlen(path);
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (count >= sizeof address->sun_path) return -ENAMETOOLONG;
    memcpy(address->sun_path, path, count);
    return 0;
}

/* A socket of this machine that listens at a path (unix(7)), for this user alone. */
static inline int linux_local_listen(const char *path) {
    struct sockaddr_un address;
    int result = linux_local_address(&address, path);
    if (result < 0) return result;
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -errno;
    /* The mode of the new file is what fchmod(2) gave the socket before it got a name. */
    if (fchmod(descriptor, 0600) < 0 || bind(descriptor, (struct sockaddr *)&address,
                                             sizeof address) < 0 || listen(descriptor, 16) < 0) {
        result = -errno;
        close(descriptor);
        return result;
    }
    return descriptor;
}

/* A connection to such a socket, which blocks. To make it does not: -EAGAIN says that the listener has
   accepted none for long. */
static inline int linux_local_connect(const char *path) {
    struct sockaddr_un address;
    int result = linux_local_address(&address, path);
    if (result < 0) return result;
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -errno;
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) < 0 ||
        fcntl(descriptor, F_SETFL, 0) < 0) {
        result = -errno;
        close(descriptor);
        return result;
    }
    return descriptor;
}

/* A socket that listens at an address of this machine, IPv4 or IPv6 in digits; `port` becomes the one
   that it has. A negated error number otherwise: -EINVAL for what is no address. */
static inline int linux_internet_listen(const char *host, uint16_t *port) {
    struct sockaddr_storage storage;
    memset(&storage, 0, sizeof storage);
    struct sockaddr_in *four = (struct sockaddr_in *)&storage;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&storage;
    socklen_t length;
    if (inet_pton(AF_INET, host, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(*port);
        length = sizeof *four;
    } else if (inet_pton(AF_INET6, host, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(*port);
        length = sizeof *six;
    } else {
        return -EINVAL;
    }
    int number = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (number < 0) return -errno;
    int on = 1;
    setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (storage.ss_family == AF_INET6)
        setsockopt(number, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(number, (struct sockaddr *)&storage, length) < 0 || listen(number, 1024) < 0 ||
        getsockname(number, (struct sockaddr *)&storage, &length) < 0) {
        int problem = errno;
        close(number);
        return -problem;
    }
    *port = ntohs(storage.ss_family == AF_INET ? four->sin_port : six->sin6_port);
    return number;
}

/* Another descriptor of an open file, for whoever closes its own. */
static inline int linux_duplicate(int descriptor) {
    int number = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    return number < 0 ? -errno : number;
}

/* The next connection; -EAGAIN where there is none. */
static inline int linux_local_accept(int listener) {
    return (int)LINUX_RESULT(syscall(SYS_accept4, listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

/* The user at the other end of a connection (SO_PEERCRED); -1 where that is not known. */
static inline int64_t linux_peer_user(int descriptor) {
    struct { int32_t process; uint32_t user, group; } peer = {0, 0, 0};
    socklen_t length = sizeof peer;
    return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? peer.user : -1;
}

/* What no other socket of this boot is called (SO_COOKIE of socket(7)); 0 for what is no socket. */
static inline uint64_t linux_socket_cookie(int number) {
    uint64_t cookie = 0;
    socklen_t length = sizeof cookie;
    return getsockopt(number, SOL_SOCKET, SO_COOKIE, &cookie, &length) == 0 ? cookie : 0;
}

/* For how many milliseconds no data came over a TCP socket (TCP_INFO, tcp(7)); -1 where that is not known. */
static inline int64_t linux_silence(int number) {
    struct tcp_info info;
    socklen_t length = sizeof info;
    memset(&info, 0, sizeof info);
    if (getsockopt(number, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return -1;
    return info.tcpi_last_data_recv;
}

/* The local port of a socket for IPv4 or IPv6, 0 where it has none yet; -1 for what is no such socket. */
static inline int32_t linux_local_port(int number) {
    struct sockaddr_storage storage;
    socklen_t length = sizeof storage;
    if (getsockname(number, (struct sockaddr *)&storage, &length) < 0) return -1;
    switch (storage.ss_family) {
    case AF_INET: return ntohs(((struct sockaddr_in *)&storage)->sin_port);
    case AF_INET6: return ntohs(((struct sockaddr_in6 *)&storage)->sin6_port);
    default: return -1;
    }
}
