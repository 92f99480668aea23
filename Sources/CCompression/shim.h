#pragma once
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* zlib, liblzma and libzstd; each is loaded with the first list that needs it. This is the ABI that
   the number in the file name (libz.so.1) fixes, so no headers are needed. */

enum ccompression_kind { CCOMPRESSION_GZIP, CCOMPRESSION_XZ, CCOMPRESSION_ZSTD };

/* z_stream of zlib.h, libz.so.1. */
struct ccompression_z {
    const uint8_t *next_in;
    unsigned avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state, *zalloc, *zfree, *opaque;
    int data_type;
    unsigned long adler, reserved;
};

/* lzma_stream of lzma/base.h, liblzma.so.5. */
struct ccompression_x {
    const uint8_t *next_in;
    size_t avail_in;
    uint64_t total_in;
    uint8_t *next_out;
    size_t avail_out;
    uint64_t total_out;
    const void *allocator;
    void *internal, *reserved_pointers[4];
    uint64_t seek_pos, reserved_int2;
    size_t reserved_int3, reserved_int4;
    int reserved_enum1, reserved_enum2;
};

/* ZSTD_inBuffer and ZSTD_outBuffer of zstd.h, libzstd.so.1. */
struct ccompression_buffer {
    const void *bytes;
    size_t size, position;
};

/* The functions of one of the libraries; the others are null. */
struct ccompression {
    int (*inflateInit2_)(struct ccompression_z *, int, const char *, int);
    int (*inflate)(struct ccompression_z *, int);
    int (*inflateReset)(struct ccompression_z *);
    int (*inflateEnd)(struct ccompression_z *);
    int (*lzma_stream_decoder)(struct ccompression_x *, uint64_t, uint32_t);
    int (*lzma_code)(struct ccompression_x *, int);
    void (*lzma_end)(struct ccompression_x *);
    void *(*ZSTD_createDStream)(void);
    size_t (*ZSTD_decompressStream)(void *, struct ccompression_buffer *,
                                    struct ccompression_buffer *);
    unsigned (*ZSTD_isError)(size_t);
    size_t (*ZSTD_freeDStream)(void *);
};

/* Loads a library and fills its part of the table: 0, or -1 with the reason in `problem`. */
static inline int ccompression_load(enum ccompression_kind kind, const char *name,
                                    struct ccompression *table, char *problem, size_t room) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(problem, room, "%s", dlerror());
        return -1;
    }
#define CCOMPRESSION_FIND(function) \
    if (!(table->function = (__typeof__(table->function))dlsym(library, #function))) { \
        snprintf(problem, room, "%s has no " #function, name); \
        return -1; \
    }
    if (kind == CCOMPRESSION_GZIP) {
        CCOMPRESSION_FIND(inflateInit2_)
        CCOMPRESSION_FIND(inflate)
        CCOMPRESSION_FIND(inflateReset)
        CCOMPRESSION_FIND(inflateEnd)
    } else if (kind == CCOMPRESSION_XZ) {
        CCOMPRESSION_FIND(lzma_stream_decoder)
        CCOMPRESSION_FIND(lzma_code)
        CCOMPRESSION_FIND(lzma_end)
    } else {
        CCOMPRESSION_FIND(ZSTD_createDStream)
        CCOMPRESSION_FIND(ZSTD_decompressStream)
        CCOMPRESSION_FIND(ZSTD_isError)
        CCOMPRESSION_FIND(ZSTD_freeDStream)
    }
#undef CCOMPRESSION_FIND
    return 0;
}

/* A decompression under way. */
struct ccompression_stream {
    enum ccompression_kind kind;
    struct ccompression_z z;
    struct ccompression_x x;
    void *zstd;
    int is_between_members;
};

static inline int ccompression_begin(const struct ccompression *table,
                                     enum ccompression_kind kind,
                                     struct ccompression_stream *stream) {
    memset(stream, 0, sizeof *stream);
    stream->kind = kind;
    switch (kind) {
    case CCOMPRESSION_GZIP: /* 15 bits of window; 16 stands for gzip. */
        return table->inflateInit2_(&stream->z, 15 + 16, "1.2.11", (int)sizeof stream->z);
    case CCOMPRESSION_XZ: /* 128 MiB of memory; 8 is LZMA_CONCATENATED. */
        return table->lzma_stream_decoder(&stream->x, 128u << 20, 8);
    default:
        stream->zstd = table->ZSTD_createDStream();
        return stream->zstd ? 0 : -1;
    }
}

/* Consumes input, produces output, and advances both pointers. Returns 0 when there
   is more to come, 1 when the text may end here, -1 when the input is damaged. */
static inline int ccompression_step(const struct ccompression *table,
                                    struct ccompression_stream *stream, const uint8_t **in,
                                    size_t *left, uint8_t **out, size_t *room) {
    if (stream->kind == CCOMPRESSION_GZIP) {
        if (stream->is_between_members) {
            if (*left == 0) return 1;
            if (table->inflateReset(&stream->z) != 0) return -1;
            stream->is_between_members = 0;
        }
        unsigned some = *left > (1u << 30) ? 1u << 30 : (unsigned)*left;
        stream->z.next_in = *in;
        stream->z.avail_in = some;
        stream->z.next_out = *out;
        stream->z.avail_out = (unsigned)*room;
        int result = table->inflate(&stream->z, 0);
        *in += some - stream->z.avail_in;
        *left -= some - stream->z.avail_in;
        *out += *room - stream->z.avail_out;
        *room = stream->z.avail_out;
        stream->is_between_members = result == 1;
        return result == 1 ? *left == 0 : result == 0 ? 0 : -1;
    }
    if (stream->kind == CCOMPRESSION_XZ) {
        stream->x.next_in = *in;
        stream->x.avail_in = *left;
        stream->x.next_out = *out;
        stream->x.avail_out = *room;
        int result = table->lzma_code(&stream->x, 3); /* LZMA_FINISH: all input is at hand. */
        *in = stream->x.next_in;
        *left = stream->x.avail_in;
        *out = stream->x.next_out;
        *room = stream->x.avail_out;
        return result == 1 ? 1 : result == 0 ? 0 : -1;
    }
    struct ccompression_buffer output = {*out, *room, 0}, input = {*in, *left, 0};
    size_t result = table->ZSTD_decompressStream(stream->zstd, &output, &input);
    if (table->ZSTD_isError(result)) return -1;
    *in += input.position;
    *left -= input.position;
    *out += output.position;
    *room -= output.position;
    return result == 0 && *left == 0;
}

static inline void ccompression_end(const struct ccompression *table,
                                    struct ccompression_stream *stream) {
    if (stream->kind == CCOMPRESSION_GZIP) table->inflateEnd(&stream->z);
    if (stream->kind == CCOMPRESSION_XZ) table->lzma_end(&stream->x);
    if (stream->kind == CCOMPRESSION_ZSTD) table->ZSTD_freeDStream(stream->zstd);
}
