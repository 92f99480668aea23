#pragma once
#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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
static inline struct MHD_Daemon *cmicrohttpd_start(int socket,
                                                   const struct cmicrohttpd_limits *limits,
                                                   const struct cmicrohttpd_callbacks *callbacks) {
    return MHD_start_daemon(
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

/* Whether a connection begins; else it ends. */
static inline bool cmicrohttpd_begins(enum MHD_ConnectionNotificationCode code) {
    return code == MHD_CONNECTION_NOTIFY_STARTED;
}

/* A connection's socket, or -1. MHD_get_connection_info is variadic. */
static inline int cmicrohttpd_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *known =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return known ? known->connect_fd : -1;
}

/* What a function that gives the bytes of a body returns to end the connection in the middle. */
static inline ssize_t cmicrohttpd_break(void) { return MHD_CONTENT_READER_END_WITH_ERROR; }
