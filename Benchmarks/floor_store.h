/* Where the floor puts things: an unnamed file and its digest, its name, and a row of the index. */
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TAG = 64, DIGEST = 32 };

typedef struct {
    const char *name;
    char *bytes;
    size_t length, room;
    char tag[TAG];
    unsigned char digest[DIGEST];
    int file;
    struct stat status;
} Item;

static int root, source = -1;
static sqlite3 *database;

static void fail(const char *what) {
    fprintf(stderr, "floor: %s: %s\n", what, errno ? strerror(errno) : "failed");
    exit(1);
}

/* ---- The index. ---- */

static void run_sql(const char *text) {
    if (sqlite3_exec(database, text, NULL, NULL, NULL) != SQLITE_OK) fail(sqlite3_errmsg(database));
}

static sqlite3_stmt *prepared(const char *text) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(database, text, -1, &statement, NULL) != SQLITE_OK)
        fail(sqlite3_errmsg(database));
    return statement;
}

static void open_index(const char *folder) {
    char path[4096];
    snprintf(path, sizeof path, "%s/.floor.sqlite", folder);
    if (sqlite3_open(path, &database) != SQLITE_OK) fail(path);
    run_sql("pragma journal_mode = wal; pragma synchronous = normal;"
            "create table if not exists file (path text primary key, size, modified, inode, sha256, "
            "tag, asked) without rowid");
}

static void step(sqlite3_stmt *statement) {
    if (sqlite3_step(statement) != SQLITE_DONE) fail(sqlite3_errmsg(database));
    sqlite3_reset(statement);
}

static void record_files(sqlite3_stmt *row, Item **batch, int n, time_t now) {
    run_sql("begin");
    for (int i = 0; i < n; i++) {
        const Item *item = batch[i];
        sqlite3_bind_text(row, 1, item->name, -1, SQLITE_STATIC);
        sqlite3_bind_int64(row, 2, item->status.st_size);
        sqlite3_bind_int64(row, 3, item->status.st_mtim.tv_sec * 1000000000
                                       + item->status.st_mtim.tv_nsec);
        sqlite3_bind_int64(row, 4, (sqlite3_int64)item->status.st_ino);
        sqlite3_bind_blob(row, 5, item->digest, DIGEST, SQLITE_STATIC);
        sqlite3_bind_text(row, 6, item->tag, -1, SQLITE_STATIC);
        sqlite3_bind_int64(row, 7, now);
        step(row);
    }
    run_sql("commit");
}

static void record_answers(sqlite3_stmt *row, Item **batch, int n, time_t now) {
    run_sql("begin");
    for (int i = 0; i < n; i++) {
        sqlite3_bind_int64(row, 1, now);
        sqlite3_bind_text(row, 2, batch[i]->name, -1, SQLITE_STATIC);
        step(row);
    }
    run_sql("commit");
}

/* ---- Putting files away. ---- */

/* The folder of a name, made where it is missing. Names come a folder at a time: one stays open. */
static int folder_of(const char *name) {
    static int opened = -1;
    static char known[1024];
    const char *slash = strrchr(name, '/');
    if (!slash) return root;
    size_t length = (size_t)(slash - name);
    if (opened >= 0 && strlen(known) == length && !memcmp(known, name, length)) return opened;
    if (opened >= 0) close(opened);
    if (length >= sizeof known) fail(name);
    for (size_t i = 0; i <= length; i++) {
        if (i < length && name[i] != '/') continue;
        memcpy(known, name, i);
        known[i] = 0;
        if (mkdirat(root, known, 0755) && errno != EEXIST) fail(known);
    }
    if ((opened = openat(root, known, O_RDONLY | O_DIRECTORY)) < 0) fail(known);
    return opened;
}

static int unnamed_file(const Item *item) {
    int file = openat(folder_of(item->name), ".", O_TMPFILE | O_RDWR, 0644);
    if (file < 0) fail("an unnamed file");
    return file;
}

static void write_body(Item *item) {
    item->file = unnamed_file(item);
    for (size_t done = 0; done < item->length;) {
        ssize_t wrote = write(item->file, item->bytes + done, item->length - done);
        if (wrote < 0) fail("write");
        done += (size_t)wrote;
    }
}

/* The kernel copies, or shares what it can; the bytes are read once, for the digest. */
static void copy_body(Item *item) {
    int from = openat(source, item->name, O_RDONLY);
    struct stat status;
    if (from < 0 || fstat(from, &status)) fail(item->name);
    item->length = (size_t)status.st_size;
    item->bytes = malloc(item->length + 1);
    for (size_t done = 0; done < item->length;) {
        ssize_t got = pread(from, item->bytes + done, item->length - done, (off_t)done);
        if (got <= 0) fail(item->name);
        done += (size_t)got;
    }
    item->file = unnamed_file(item);
    for (size_t left = item->length; left;) {
        ssize_t copied = copy_file_range(from, NULL, item->file, NULL, left, 0);
        if (copied <= 0) fail("copy_file_range");
        left -= (size_t)copied;
    }
    close(from);
}

static void put_away(Item *item, EVP_MD_CTX *context, const EVP_MD *sha256) {
    if (source >= 0) copy_body(item);
    else write_body(item);
    if (!EVP_DigestInit_ex2(context, sha256, NULL)
        || !EVP_DigestUpdate(context, item->bytes, item->length)
        || !EVP_DigestFinal_ex(context, item->digest, NULL)) fail("sha256");
    free(item->bytes);
}

static void give_name(Item *item) {
    const char *slash = strrchr(item->name, '/');
    const char *last = slash ? slash + 1 : item->name;
    int folder = folder_of(item->name);
    if (linkat(item->file, "", folder, last, AT_EMPTY_PATH)) {
        /* Only root may link by descriptor; everybody else goes by way of /proc (open(2)). */
        char path[32];
        snprintf(path, sizeof path, "/proc/self/fd/%d", item->file);
        if (linkat(AT_FDCWD, path, folder, last, AT_SYMLINK_FOLLOW)) fail(item->name);
    }
    if (fstat(item->file, &item->status) || close(item->file)) fail(item->name);
}

static void commit_files(sqlite3_stmt *row, Item **batch, int n) {
    if (syncfs(root)) fail("syncfs");
    for (int i = 0; i < n; i++) give_name(batch[i]);
    if (syncfs(root)) fail("syncfs");
    record_files(row, batch, n, time(NULL));
}
