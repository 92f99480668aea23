/* The floor: what the work on many small files costs when plain C does it with mirror's libraries.
 *
 *   floor fetch ADDRESS LIST FOLDER CONNECTIONS    asks for each name of LIST below ADDRESS
 *   floor ask   ADDRESS LIST FOLDER CONNECTIONS    the same with the entity tags of the fetch: 304s
 *   floor copy  SOURCE  LIST FOLDER                takes each name from the folder SOURCE
 *
 * One thread runs a libcurl multi loop. A second one puts away what has come: SHA-256, an unnamed
 * file, and for a batch of them a flush, the links to their names, a look at each, another flush, and
 * a row each in SQLite in one transaction. https means HTTP/2 on one connection.
 *
 * It is a lower bound for a program on these libraries, and no program to use. It compares no
 * digest, reads no manifest, and holds no plan. It knows no retry, redirect, range, limit or stall.
 * It trusts every certificate and name, writes over nothing, and ends at the first failure. */
#define _GNU_SOURCE
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "floor_store.h"

enum { BATCH = 1024, BATCH_MILLISECONDS = 200 };

static Item *items;
static int count;
static const char *address;
static bool asks;

/* ---- What has come, handed from the loop to the thread that puts it away. ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrival = PTHREAD_COND_INITIALIZER;
static Item **arrived;
static int arrivals;
static bool isOver;

static void hand_over(Item *item) {
    pthread_mutex_lock(&mutex);
    arrived[arrivals++] = item;
    pthread_cond_signal(&arrival);
    pthread_mutex_unlock(&mutex);
}

/* Waits until more than `taken` have come, the end, or the time: how many there are now. */
static int await_arrivals(int taken, const struct timespec *until, bool *over) {
    pthread_mutex_lock(&mutex);
    int error = 0;
    while (arrivals == taken && !isOver && error != ETIMEDOUT)
        error = until ? pthread_cond_timedwait(&arrival, &mutex, until)
                      : pthread_cond_wait(&arrival, &mutex);
    int now = arrivals;
    *over = isOver;
    pthread_mutex_unlock(&mutex);
    return now;
}

/* ---- Putting it away, a batch at a time. ---- */

static struct timespec after(struct timespec now, int milliseconds) {
    long nanoseconds = now.tv_nsec + milliseconds * 1000000L;
    return (struct timespec){now.tv_sec + nanoseconds / 1000000000, nanoseconds % 1000000000};
}

/* The second thread: a batch ends when it is full, or old, or when nothing more will come. */
static void *put_all_away(void *unused) {
    (void)unused;
    sqlite3_stmt *row = prepared(asks ? "update file set asked = ? where path = ?"
                                      : "insert into file values (?, ?, ?, ?, ?, ?, ?)");
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_MD *sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    int first = 0, next = 0;
    struct timespec until;
    for (;;) {
        bool over;
        int there = await_arrivals(next, first < next ? &until : NULL, &over);
        if (over && first == there) break;
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        if (first == next) until = after(now, BATCH_MILLISECONDS);
        bool isOld = now.tv_sec > until.tv_sec
                     || (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec);
        for (; next < there && next < first + BATCH; next++)
            if (!asks) put_away(arrived[next], context, sha256);
        bool isLast = over && next == there;
        if (next == first || !(isOld || isLast || next == first + BATCH)) continue;
        if (asks) record_answers(row, arrived + first, next - first, time(NULL));
        else commit_files(row, arrived + first, next - first);
        first = next;
    }
    sqlite3_finalize(row);
    EVP_MD_CTX_free(context);
    EVP_MD_free(sha256);
    return NULL;
}

/* ---- The loop. ---- */

static size_t receive(char *bytes, size_t size, size_t n, void *context) {
    Item **item = context;
    size_t more = size * n, whole = (*item)->length + more;
    if (whole > (*item)->room) {
        (*item)->room = whole < 8192 ? 8192 : whole * 2;
        (*item)->bytes = realloc((*item)->bytes, (*item)->room);
        if (!(*item)->bytes) return 0;
    }
    memcpy((*item)->bytes + (*item)->length, bytes, more);
    (*item)->length = whole;
    return more;
}

typedef struct {
    CURL *easy;
    Item *item;
    struct curl_slist *condition;
} Place;

/* The look at the file, and the condition that its row gives. */
static struct curl_slist *condition_of(Item *item, sqlite3_stmt *row) {
    char line[TAG + 32];
    if (fstatat(root, item->name, &item->status, AT_SYMLINK_NOFOLLOW)) fail(item->name);
    sqlite3_bind_text(row, 1, item->name, -1, SQLITE_STATIC);
    if (sqlite3_step(row) != SQLITE_ROW) fail("a name that was not fetched");
    snprintf(line, sizeof line, "If-None-Match: %s", (const char *)sqlite3_column_text(row, 0));
    sqlite3_reset(row);
    return curl_slist_append(NULL, line);
}

static void begin(CURLM *multi, Place *place, Item *item, sqlite3_stmt *row) {
    char url[4096];
    snprintf(url, sizeof url, "%s/%s", address, item->name);
    place->item = item;
    curl_easy_setopt(place->easy, CURLOPT_URL, url);
    if (asks) {
        place->condition = condition_of(item, row);
        curl_easy_setopt(place->easy, CURLOPT_HTTPHEADER, place->condition);
    }
    if (curl_multi_add_handle(multi, place->easy)) fail("curl_multi_add_handle");
}

static void end(CURLM *multi, const CURLMsg *message, Place *place) {
    struct curl_header *tag;
    long status = 0;
    if (message->data.result) fail(curl_easy_strerror(message->data.result));
    curl_easy_getinfo(place->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != (asks ? 304 : 200)) fail("an answer of another status");
    if (!asks && !curl_easy_header(place->easy, "ETag", 0, CURLH_HEADER, -1, &tag))
        snprintf(place->item->tag, TAG, "%s", tag->value);
    curl_multi_remove_handle(multi, place->easy);
    curl_slist_free_all(place->condition);
    place->condition = NULL;
    hand_over(place->item);
}

static void set_up(Place *place) {
    place->easy = curl_easy_init();
    curl_easy_setopt(place->easy, CURLOPT_PRIVATE, place);
    curl_easy_setopt(place->easy, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(place->easy, CURLOPT_WRITEDATA, &place->item);
    curl_easy_setopt(place->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(place->easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(place->easy, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(place->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(place->easy, CURLOPT_PIPEWAIT, strncmp(address, "https:", 6) ? 0L : 1L);
}

static void transfer_all(int connections) {
    CURLM *multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)connections);
    sqlite3_stmt *row = asks ? prepared("select tag from file where path = ?") : NULL;
    Place *places = calloc((size_t)connections, sizeof *places);
    int next = 0, active = 0;
    for (; active < connections && next < count; active++) {
        set_up(&places[active]);
        begin(multi, &places[active], &items[next++], row);
    }
    while (active) {
        int running, left, ended = 0;
        if (curl_multi_perform(multi, &running)) fail("curl_multi_perform");
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left)); ended++) {
            Place *place;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &place);
            end(multi, message, place);
            if (next < count) begin(multi, place, &items[next++], row);
            else active--;
        }
        if (!ended && curl_multi_poll(multi, NULL, 0, 1000, NULL)) fail("curl_multi_poll");
    }
    sqlite3_finalize(row);
}

static void read_list(const char *path) {
    FILE *list = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    if (!list) fail(path);
    for (ssize_t length; (length = getline(&line, &room, list)) > 0;) {
        if (line[length - 1] == '\n') line[length - 1] = 0;
        if (count % 1024 == 0) items = realloc(items, (size_t)(count + 1024) * sizeof *items);
        items[count++] = (Item){.name = strdup(line)};
    }
    free(line);
    fclose(list);
}

int main(int words, char **word) {
    bool copies = words == 5 && !strcmp(word[1], "copy");
    asks = words == 6 && !strcmp(word[1], "ask");
    if (!copies && !asks && !(words == 6 && !strcmp(word[1], "fetch"))) {
        fputs("usage: floor fetch|ask ADDRESS LIST FOLDER CONNECTIONS\n"
              "       floor copy SOURCE LIST FOLDER\n", stderr);
        return 64;
    }
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);

    address = word[2];
    read_list(word[3]);
    if ((root = open(word[4], O_RDONLY | O_DIRECTORY)) < 0) fail(word[4]);
    if (copies && (source = open(word[2], O_RDONLY | O_DIRECTORY)) < 0) fail(word[2]);
    arrived = calloc((size_t)count + 1, sizeof *arrived);
    open_index(word[4]);

    pthread_t putter;
    if (pthread_create(&putter, NULL, put_all_away, NULL)) fail("pthread_create");
    if (copies) for (int i = 0; i < count; i++) hand_over(&items[i]);
    else transfer_all(atoi(word[5]));
    pthread_mutex_lock(&mutex);
    isOver = true;
    pthread_cond_signal(&arrival);
    pthread_mutex_unlock(&mutex);
    pthread_join(putter, NULL);
    sqlite3_close(database);
    return 0;
}
