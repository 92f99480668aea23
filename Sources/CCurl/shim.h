#pragma once
#include <curl/curl.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

/* libcurl brings some thirty libraries, and loading them takes longer than a run that asks nobody. So
   nothing is linked: it is loaded when the first request is made, and called through this table.
   Its name carries the version of its interface, which has been 4 since 2006. */
#define CCURL_LIBRARY "libcurl.so.4"

#define CCURL_FUNCTIONS(each) \
    each(global_init) each(easy_init) each(easy_cleanup) each(easy_reset) each(easy_pause) \
    each(easy_setopt) each(easy_getinfo) each(easy_strerror) each(slist_append) \
    each(slist_free_all) each(multi_init) each(multi_cleanup) each(multi_setopt) \
    each(multi_add_handle) each(multi_remove_handle) each(multi_socket_action) \
    each(multi_socket_all) \
    each(multi_info_read) each(url) each(url_cleanup) each(url_set)

/* The functions of OpenSSL by which a connection of libcurl is asked what it negotiated, and watched. They come
   with libcurl, and are NULL where libcurl has another TLS library (ssl(7ossl)). */
struct ccurl_openssl {
    void (*get_alpn)(const void *ssl, const unsigned char **name, unsigned *length);
    void *(*get_context)(const void *ssl);
    int (*set_data)(void *context, int index, void *data);
    void *(*get_data)(const void *context, int index);
    void (*set_observer)(void *context, void (*observer)(const void *ssl, int where, int value));
    void (*set_certificate)(void *context, int (*callback)(void *ssl, void **certificate, void **key));
};

struct ccurl {
#define CCURL_MEMBER(name) __typeof__(curl_##name) *name;
    CCURL_FUNCTIONS(CCURL_MEMBER)
#undef CCURL_MEMBER
    struct ccurl_openssl openssl;
    /* Whether all functions of `openssl` are there. */
    bool has_openssl;
};

static inline void ccurl_find_openssl(void *library, struct ccurl *curl) {
    struct ccurl_openssl *openssl = &curl->openssl;
    *(void **)&openssl->get_alpn = dlsym(library, "SSL_get0_alpn_selected");
    *(void **)&openssl->get_context = dlsym(library, "SSL_get_SSL_CTX");
    *(void **)&openssl->set_data = dlsym(library, "SSL_CTX_set_ex_data");
    *(void **)&openssl->get_data = dlsym(library, "SSL_CTX_get_ex_data");
    *(void **)&openssl->set_observer = dlsym(library, "SSL_CTX_set_info_callback");
    *(void **)&openssl->set_certificate = dlsym(library, "SSL_CTX_set_client_cert_cb");
    curl->has_openssl = openssl->set_certificate && openssl->get_alpn && openssl->get_context && openssl->set_data &&
                        openssl->get_data && openssl->set_observer;
}

/* Loads libcurl and fills the table: 0, or -1 with the reason in `problem`. It is never unloaded. Of the thirty
   libraries that it brings, those that were not linked to be bound at once are bound when they are called, as
   they are in a program that is linked against libcurl: an eighth of the time (RTLD_LAZY, dlopen(3)). If one lacks
   a function, amid an upgrade, the process ends where it is called, as that program does. */
static inline int ccurl_load(const char *name, struct ccurl *curl, char *problem,
                             size_t room) {
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        snprintf(problem, room, "%s", dlerror());
        return -1;
    }
#define CCURL_FIND(function) \
    if (!(curl->function = (__typeof__(curl->function))dlsym(library, "curl_" #function))) { \
        snprintf(problem, room, "%s has no curl_%s", name, #function); \
        return -1; \
    }
    CCURL_FUNCTIONS(CCURL_FIND)
#undef CCURL_FIND
    ccurl_find_openssl(library, curl);
    CURLcode result = curl->global_init(CURL_GLOBAL_DEFAULT);
    if (result == CURLE_OK) return 0;
    snprintf(problem, room, "curl_global_init: %s", curl->easy_strerror(result));
    return -1;
}

/* Makes a TLS context and frees it, with the OpenSSL that a loaded libcurl brought (SSL_CTX_new(3)): false
   where it is not loaded, or brought none. */
static inline bool ccurl_prepare_tls(const char *name) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (!library) return false;
    const void *(*method)(void) = (const void *(*)(void))dlsym(library, "TLS_client_method");
    void *(*make)(const void *) = (void *(*)(const void *))dlsym(library, "SSL_CTX_new");
    void (*end)(void *) = (void (*)(void *))dlsym(library, "SSL_CTX_free");
    void *context = method && make && end ? make(method()) : NULL;
    if (context) end(context);
    dlclose(library);
    return context;
}

static inline CURL *ccurl_easy_init(const struct ccurl *curl) { return curl->easy_init(); }

static inline void ccurl_easy_cleanup(const struct ccurl *curl, CURL *easy) {
    curl->easy_cleanup(easy);
}

static inline void ccurl_easy_reset(const struct ccurl *curl, CURL *easy) {
    curl->easy_reset(easy);
}

/* May call back before it returns. An error ends the transfer, and is told of nowhere else. */
static inline CURLcode ccurl_easy_go_on(const struct ccurl *curl, CURL *easy) {
    return curl->easy_pause(easy, CURLPAUSE_CONT);
}

static inline const char *ccurl_easy_strerror(const struct ccurl *curl, CURLcode code) {
    return curl->easy_strerror(code);
}

static inline struct curl_slist *ccurl_slist_append(const struct ccurl *curl,
                                                    struct curl_slist *list, const char *text) {
    return curl->slist_append(list, text);
}

static inline void ccurl_slist_free_all(const struct ccurl *curl, struct curl_slist *list) {
    curl->slist_free_all(list);
}

static inline CURLU *ccurl_url(const struct ccurl *curl) { return curl->url(); }

static inline void ccurl_url_cleanup(const struct ccurl *curl, CURLU *url) {
    curl->url_cleanup(url);
}

/* Replaces all parts by those of an absolute URL, parsed as CURLOPT_URL is with CURLOPT_PATH_AS_IS. */
static inline bool ccurl_url_parse(const struct ccurl *curl, CURLU *url, const char *text) {
    return curl->url_set(url, CURLUPART_URL, text,
                         CURLU_NON_SUPPORT_SCHEME | CURLU_PATH_AS_IS) == CURLUE_OK;
}

/* libcurl 7.88 takes percent-encoded bytes of the path for others: it writes their digits in lower
   case. */
static inline bool ccurl_url_set_path(const struct ccurl *curl, CURLU *url, const char *path) {
    return curl->url_set(url, CURLUPART_PATH, path, 0) == CURLUE_OK;
}

/* curl_easy_setopt, curl_easy_getinfo and curl_multi_setopt are variadic, which Swift cannot call:
   one function for each type of argument. */

static inline CURLcode ccurl_set_long(const struct ccurl *curl, CURL *easy, CURLoption option,
                                      long value) {
    return curl->easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_offset(const struct ccurl *curl, CURL *easy, CURLoption option,
                                        curl_off_t value) {
    return curl->easy_setopt(easy, option, value);
}

/* libcurl copies the text. */
static inline CURLcode ccurl_set_text(const struct ccurl *curl, CURL *easy, CURLoption option,
                                      const char *value) {
    return curl->easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_pointer(const struct ccurl *curl, CURL *easy, CURLoption option,
                                         void *value) {
    return curl->easy_setopt(easy, option, value);
}

typedef size_t (*ccurl_bytes_callback)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode ccurl_set_bytes_callback(const struct ccurl *curl, CURL *easy,
                                                CURLoption option,
                                                ccurl_bytes_callback callback) {
    return curl->easy_setopt(easy, option, callback);
}

static inline CURLcode ccurl_set_socket_callback(const struct ccurl *curl, CURL *easy,
                                                 curl_opensocket_callback callback) {
    return curl->easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}

static inline CURLcode ccurl_set_closing_callback(const struct ccurl *curl, CURL *easy,
                                                  curl_closesocket_callback callback) {
    return curl->easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
}

static inline CURLcode ccurl_set_request_callback(const struct ccurl *curl, CURL *easy,
                                                  curl_prereq_callback callback) {
    return curl->easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
}

static inline long ccurl_get_long(const struct ccurl *curl, CURL *easy, CURLINFO info) {
    long value = 0;
    return curl->easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

static inline void *ccurl_get_pointer(const struct ccurl *curl, CURL *easy, CURLINFO info) {
    char *value = 0;
    return curl->easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

/* The TLS session of the connection that a handle has now (SSL *); NULL where it has none, and where libcurl has
   another TLS library than OpenSSL. A handle whose transfer has ended has no connection (CURLINFO_TLS_SSL_PTR(3)). */
static inline void *ccurl_tls(const struct ccurl *curl, CURL *easy) {
    struct curl_tlssessioninfo *info = NULL;
    if (!curl->has_openssl ||
        curl->easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &info) != CURLE_OK || !info ||
        info->backend != CURLSSLBACKEND_OPENSSL)
        return NULL;
    return info->internals;
}

/* Whether a TLS session has agreed on HTTP/2 (RFC 7301, SSL_get0_alpn_selected(3ossl)). */
static inline bool ccurl_tls_chose_http2(const struct ccurl *curl, const void *tls) {
    const unsigned char *name = NULL;
    unsigned length = 0;
    curl->openssl.get_alpn(tls, &name, &length);
    return length == 2 && name[0] == 'h' && name[1] == '2';
}

typedef CURLcode (*ccurl_context_callback)(CURL *easy, void *context, void *data);
typedef void (*ccurl_alert_callback)(const void *tls, int where, int value);

/* `callback` is called with each new TLS context, before its handshake. */
static inline CURLcode ccurl_set_context_callback(const struct ccurl *curl, CURL *easy,
                                                  ccurl_context_callback callback,
                                                  void *data) {
    CURLcode result = curl->easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, callback);
    return result ? result : curl->easy_setopt(easy, CURLOPT_SSL_CTX_DATA, data);
}

typedef int (*ccurl_certificate_callback)(void *tls, void **certificate, void **key);

/* Has callbacks told what happens in the sessions of a TLS context, and that a server asks for a certificate
   (SSL_CTX_set_client_cert_cb(3ossl)); `data` is found again by `ccurl_tls_data`. Index 0 is the application's, which
   libcurl leaves alone. */
static inline void ccurl_observe_tls(const struct ccurl *curl, void *context, void *data,
                                     ccurl_alert_callback alert,
                                     ccurl_certificate_callback certificate) {
    if (!curl->has_openssl || !curl->openssl.set_data(context, 0, data)) return;
    curl->openssl.set_observer(context, alert);
    curl->openssl.set_certificate(context, certificate);
}

/* The TLS context of a session (SSL_CTX *). */
static inline void *ccurl_tls_context(const struct ccurl *curl, const void *tls) {
    return curl->openssl.get_context(tls);
}

static inline void *ccurl_tls_data(const struct ccurl *curl, const void *tls) {
    void *context = curl->openssl.get_context(tls);
    return context ? curl->openssl.get_data(context, 0) : NULL;
}

/* Whether what an observer is told is the peer's close_notify (RFC 8446, section 6.1): SSL_CB_READ_ALERT, and an
   alert whose description is 0 (SSL_CTX_set_info_callback(3ossl)). */
static inline bool ccurl_is_closing_notice(int where, int value) {
    const int read_alert = 0x4004;
    return (where & read_alert) == read_alert && (value & 0xff) == 0;
}

static inline CURLM *ccurl_multi_init(const struct ccurl *curl) { return curl->multi_init(); }

static inline void ccurl_multi_cleanup(const struct ccurl *curl, CURLM *multi) {
    curl->multi_cleanup(multi);
}

static inline CURLMcode ccurl_multi_set_long(const struct ccurl *curl, CURLM *multi,
                                             CURLMoption option, long value) {
    return curl->multi_setopt(multi, option, value);
}

static inline void ccurl_multi_add(const struct ccurl *curl, CURLM *multi, CURL *easy) {
    curl->multi_add_handle(multi, easy);
}

static inline CURLMcode ccurl_multi_remove(const struct ccurl *curl, CURLM *multi, CURL *easy) {
    return curl->multi_remove_handle(multi, easy);
}

/* Who is told which sockets to watch and when to come back, with the same context. */
static inline void ccurl_multi_set_watch(const struct ccurl *curl, CURLM *multi,
                                         curl_socket_callback sockets,
                                         curl_multi_timer_callback timer, void *context) {
    curl->multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, sockets);
    curl->multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    curl->multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
    curl->multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

/* Lets the transfers of a socket do what they can, or with CURL_SOCKET_TIMEOUT those whose time has
   come; `events` are CURL_CSELECT_IN and _OUT. */
static inline void ccurl_multi_act(const struct ccurl *curl, CURLM *multi, curl_socket_t socket,
                                   int events) {
    int running = 0;
    curl->multi_socket_action(multi, socket, events, &running);
}

/* Lets all transfers do what they can. 7.88 has the timer of a name's next address fire within
   curl_multi_socket_action, and begins no connection to it there. */
static inline void ccurl_multi_act_all(const struct ccurl *curl, CURLM *multi) {
    int running = 0;
    curl->multi_socket_all(multi, &running);
}

/* The next transfer that ended, and how; NULL when there is none. */
static inline CURL *ccurl_multi_next_end(const struct ccurl *curl, CURLM *multi,
                                         CURLcode *result) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl->multi_info_read(multi, &left))) {
        if (message->msg == CURLMSG_DONE) {
            *result = message->data.result;
            return message->easy_handle;
        }
    }
    return NULL;
}
