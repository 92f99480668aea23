#pragma once
#include <dlfcn.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Loaded when a tree is served, which few runs do: it brings GnuTLS and what that needs. Its name
   carries the version of its interface, which has been 12 since 2014. */
#define CMICROHTTPD_LIBRARY "libmicrohttpd.so.12"

#define CMICROHTTPD_FUNCTIONS(each) \
    each(start_daemon) each(stop_daemon) each(queue_response) each(create_response_from_buffer) \
    each(create_response_from_fd_at_offset64) each(create_response_from_callback) \
    each(destroy_response) each(add_response_header) \
    each(get_connection_values) each(lookup_connection_value) each(suspend_connection) \
    each(resume_connection) each(get_connection_info)

struct cmicrohttpd {
#define CMICROHTTPD_MEMBER(name) __typeof__(MHD_##name) *name;
    CMICROHTTPD_FUNCTIONS(CMICROHTTPD_MEMBER)
#undef CMICROHTTPD_MEMBER
};

/* Loads libmicrohttpd and fills the table: 0, or -1 with the reason in `problem`. It is never
   unloaded. */
static inline int cmicrohttpd_load(const char *name, struct cmicrohttpd *mhd, char *problem,
                                   size_t room) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(problem, room, "%s", dlerror());
        return -1;
    }
#define CMICROHTTPD_FIND(function) \
    if (!(mhd->function = (__typeof__(mhd->function))dlsym(library, "MHD_" #function))) { \
        snprintf(problem, room, "%s has no MHD_%s", name, #function); \
        return -1; \
    }
    CMICROHTTPD_FUNCTIONS(CMICROHTTPD_FIND)
#undef CMICROHTTPD_FIND
    return 0;
}

/* Leaves a URL as it was sent: it is decoded elsewhere, a segment at a time. */
static inline size_t cmicrohttpd_leave(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return strlen(text);
}

struct cmicrohttpd_limits {
    unsigned threads, connections, connections_of_address, idle_seconds;
    size_t memory_of_connection;
};

struct cmicrohttpd_callbacks {
    MHD_AccessHandlerCallback answer;
    MHD_NotifyConnectionCallback connection;
    MHD_RequestCompletedCallback completion;
    void *context;
};

/* MHD_start_daemon is variadic, which Swift cannot call. NULL where it does not start. */
static inline struct MHD_Daemon *cmicrohttpd_start(const struct cmicrohttpd *mhd, int socket,
                                                   const struct cmicrohttpd_limits *limits,
                                                   const struct cmicrohttpd_callbacks *callbacks) {
    return mhd->start_daemon(
        MHD_USE_EPOLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_TURBO | MHD_USE_SUSPEND_RESUME,
        0, NULL, NULL, callbacks->answer, callbacks->context,
        MHD_OPTION_NOTIFY_CONNECTION, callbacks->connection, callbacks->context,
        MHD_OPTION_NOTIFY_COMPLETED, callbacks->completion, callbacks->context,
        MHD_OPTION_LISTEN_SOCKET, (MHD_socket)socket,
        MHD_OPTION_THREAD_POOL_SIZE, limits->threads,
        MHD_OPTION_CONNECTION_LIMIT, limits->connections,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, limits->connections_of_address,
        MHD_OPTION_CONNECTION_TIMEOUT, limits->idle_seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits->memory_of_connection,
        MHD_OPTION_UNESCAPE_CALLBACK, cmicrohttpd_leave, NULL,
        MHD_OPTION_END);
}

static inline void cmicrohttpd_stop(const struct cmicrohttpd *mhd, struct MHD_Daemon *daemon) {
    mhd->stop_daemon(daemon);
}

static inline void cmicrohttpd_fields(const struct cmicrohttpd *mhd,
                                      struct MHD_Connection *connection,
                                      MHD_KeyValueIterator each, void *context) {
    mhd->get_connection_values(connection, MHD_HEADER_KIND, each, context);
}

/* The value of an argument in the query, as it was sent; NULL without one. */
static inline const char *cmicrohttpd_argument(const struct cmicrohttpd *mhd,
                                               struct MHD_Connection *connection,
                                               const char *name) {
    return mhd->lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

/* Whether a connection begins; else it ends. */
static inline bool cmicrohttpd_begins(enum MHD_ConnectionNotificationCode code) {
    return code == MHD_CONNECTION_NOTIFY_STARTED;
}

/* A connection's socket, or -1. MHD_get_connection_info is variadic. */
static inline int cmicrohttpd_socket(const struct cmicrohttpd *mhd,
                                     struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *known =
        mhd->get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return known ? known->connect_fd : -1;
}

/* A response with a copy of a text. */
static inline struct MHD_Response *cmicrohttpd_text(const struct cmicrohttpd *mhd,
                                                    const void *text, size_t length) {
    return mhd->create_response_from_buffer(length, (void *)text, MHD_RESPMEM_MUST_COPY);
}

/* A response with bytes of malloc(3), which it frees. The library sends them in one call with the
   head. */
static inline struct MHD_Response *cmicrohttpd_bytes(const struct cmicrohttpd *mhd, void *bytes,
                                                     size_t length) {
    return mhd->create_response_from_buffer(length, bytes, MHD_RESPMEM_MUST_FREE);
}

/* A response with a part of a file, which is sent by sendfile(2); the descriptor is the response's. */
static inline struct MHD_Response *cmicrohttpd_file(const struct cmicrohttpd *mhd, int file,
                                                    uint64_t offset, uint64_t length) {
    return mhd->create_response_from_fd_at_offset64(length, file, offset);
}

/* A response whose bytes a function gives, in order; `release` gets the context at the end. */
static inline struct MHD_Response *cmicrohttpd_read(const struct cmicrohttpd *mhd, uint64_t length,
                                                    size_t block, MHD_ContentReaderCallback read,
                                                    void *context,
                                                    MHD_ContentReaderFreeCallback release) {
    return mhd->create_response_from_callback(length, block, read, context, release);
}

/* What such a function returns to end the connection in the middle of the body. */
static inline ssize_t cmicrohttpd_break(void) { return MHD_CONTENT_READER_END_WITH_ERROR; }

static inline void cmicrohttpd_add(const struct cmicrohttpd *mhd, struct MHD_Response *response,
                                   const char *name, const char *value) {
    mhd->add_response_header(response, name, value);
}

/* Sends a response, and gives it up. */
static inline enum MHD_Result cmicrohttpd_send(const struct cmicrohttpd *mhd,
                                               struct MHD_Connection *connection, unsigned status,
                                               struct MHD_Response *response) {
    enum MHD_Result result = mhd->queue_response(connection, status, response);
    mhd->destroy_response(response);
    return result;
}

static inline void cmicrohttpd_suspend(const struct cmicrohttpd *mhd,
                                       struct MHD_Connection *connection) {
    mhd->suspend_connection(connection);
}

static inline void cmicrohttpd_resume(const struct cmicrohttpd *mhd,
                                      struct MHD_Connection *connection) {
    mhd->resume_connection(connection);
}
