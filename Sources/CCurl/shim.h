#pragma once
#include <curl/curl.h>
#include <openssl/ssl.h>
#include <stdbool.h>

/* curl_easy_setopt, curl_easy_getinfo and curl_multi_setopt are variadic, which Swift cannot call:
   one function for each type of argument. */

static inline CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

/* libcurl copies the text. */
static inline CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

typedef size_t (*ccurl_bytes_callback)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode ccurl_set_bytes_callback(CURL *easy, CURLoption option,
                                                ccurl_bytes_callback callback) {
    return curl_easy_setopt(easy, option, callback);
}

static inline CURLcode ccurl_set_socket_callback(CURL *easy, curl_opensocket_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}

static inline CURLcode ccurl_set_closing_callback(CURL *easy, curl_closesocket_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
}

static inline CURLcode ccurl_set_request_callback(CURL *easy, curl_prereq_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
}

static inline CURLcode ccurl_set_progress_callback(CURL *easy, curl_xferinfo_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, callback);
}

static inline long ccurl_get_long(CURL *easy, CURLINFO info) {
    long value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

static inline void *ccurl_get_pointer(CURL *easy, CURLINFO info) {
    char *value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

/* What a handle says of its TLS library; NULL where that is not OpenSSL. */
static inline struct curl_tlssessioninfo *ccurl_openssl(CURL *easy) {
    struct curl_tlssessioninfo *info = NULL;
    CURLcode result = curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &info);
    return result == CURLE_OK && info && info->backend == CURLSSLBACKEND_OPENSSL ? info : NULL;
}

/* The TLS session of the connection that a handle has now (SSL *); NULL where it has none, and where libcurl has
   another TLS library than OpenSSL. A handle whose transfer has ended has no connection (CURLINFO_TLS_SSL_PTR(3)). */
static inline void *ccurl_tls(CURL *easy) {
    struct curl_tlssessioninfo *info = ccurl_openssl(easy);
    return info ? info->internals : NULL;
}

/* Whether a TLS session has agreed on HTTP/2 (RFC 7301, SSL_get0_alpn_selected(3ossl)). */
static inline bool ccurl_tls_chose_http2(const void *tls) {
    const unsigned char *name = NULL;
    unsigned length = 0;
    SSL_get0_alpn_selected(tls, &name, &length);
    return length == 2 && name[0] == 'h' && name[1] == '2';
}

typedef CURLcode (*ccurl_context_callback)(CURL *easy, void *context, void *data);
typedef void (*ccurl_alert_callback)(const SSL *tls, int where, int value);
typedef int (*ccurl_certificate_callback)(SSL *tls, X509 **certificate, EVP_PKEY **key);

/* `callback` is called with each new TLS context, before its handshake. */
static inline CURLcode ccurl_set_context_callback(CURL *easy, ccurl_context_callback callback,
                                                  void *data) {
    CURLcode result = curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, callback);
    return result ? result : curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, data);
}

/* Has callbacks told what happens in the sessions of a handle's TLS context, and that a server asks for a
   certificate (SSL_CTX_set_client_cert_cb(3ossl)); `data` is found again by `ccurl_tls_data`. Index 0 is the
   application's, which libcurl leaves alone. */
static inline void ccurl_observe_tls(CURL *easy, void *context, void *data, ccurl_alert_callback alert,
                                     ccurl_certificate_callback certificate) {
    if (!ccurl_openssl(easy) || !SSL_CTX_set_ex_data(context, 0, data)) return;
    SSL_CTX_set_info_callback(context, alert);
    SSL_CTX_set_client_cert_cb(context, certificate);
}

static inline void *ccurl_tls_data(const SSL *tls) {
    return SSL_CTX_get_ex_data(SSL_get_SSL_CTX(tls), 0);
}

/* Whether what an observer is told is the peer's close_notify (RFC 8446, section 6.1): an alert whose description
   is 0 (SSL_CTX_set_info_callback(3ossl)). */
static inline bool ccurl_is_closing_notice(int where, int value) {
    return (where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT && (value & 0xff) == 0;
}

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/* Sets what is called when the sockets to watch change, or the time to come back; both get the same context. */
static inline void ccurl_multi_set_watch(CURLM *multi, curl_socket_callback sockets,
                                         curl_multi_timer_callback timer, void *context) {
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, sockets);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

/* The next transfer that ended, and how; NULL when there is none. */
static inline CURL *ccurl_multi_next_end(CURLM *multi, CURLcode *result) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left))) {
        if (message->msg == CURLMSG_DONE) {
            *result = message->data.result;
            return message->easy_handle;
        }
    }
    return NULL;
}
