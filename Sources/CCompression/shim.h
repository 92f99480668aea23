#pragma once
#include <lzma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum ccompression_kind { CCOMPRESSION_GZIP, CCOMPRESSION_XZ, CCOMPRESSION_ZSTD };

/* A decompression under way. */
struct ccompression_stream {
    enum ccompression_kind kind;
    z_stream z;
    lzma_stream x;
    ZSTD_DStream *zstd;
    bool is_between_members;
};

/* False where the library has no memory. */
static inline bool ccompression_begin(enum ccompression_kind kind, struct ccompression_stream *stream) {
    memset(stream, 0, sizeof *stream);
    stream->kind = kind;
    switch (kind) {
    case CCOMPRESSION_GZIP: /* 15 bits of window; 16 stands for gzip. */
        return inflateInit2(&stream->z, 15 + 16) == Z_OK;
    case CCOMPRESSION_XZ: /* 128 MiB of memory */
        return lzma_stream_decoder(&stream->x, 128u << 20, LZMA_CONCATENATED) == LZMA_OK;
    default:
        stream->zstd = ZSTD_createDStream();
        return stream->zstd;
    }
}

/* Consumes input, produces output, and advances both pointers. Returns 0 when there
   is more to come, 1 when the text may end here, -1 when the input is damaged. */
static inline int ccompression_step(struct ccompression_stream *stream, const uint8_t **in, size_t *left,
                                    uint8_t **out, size_t *room) {
    if (stream->kind == CCOMPRESSION_GZIP) {
        if (stream->is_between_members) {
            if (*left == 0) return 1;
            if (inflateReset(&stream->z) != Z_OK) return -1;
            stream->is_between_members = false;
        }
        unsigned some = *left > (1u << 30) ? 1u << 30 : (unsigned)*left;
        stream->z.next_in = (Bytef *)*in;
        stream->z.avail_in = some;
        stream->z.next_out = *out;
        stream->z.avail_out = (unsigned)*room;
        int result = inflate(&stream->z, Z_NO_FLUSH);
        *in += some - stream->z.avail_in;
        *left -= some - stream->z.avail_in;
        *out += *room - stream->z.avail_out;
        *room = stream->z.avail_out;
        stream->is_between_members = result == Z_STREAM_END;
        return result == Z_STREAM_END ? *left == 0 : result == Z_OK ? 0 : -1;
    }
    if (stream->kind == CCOMPRESSION_XZ) {
        stream->x.next_in = *in;
        stream->x.avail_in = *left;
        stream->x.next_out = *out;
        stream->x.avail_out = *room;
        lzma_ret result = lzma_code(&stream->x, LZMA_FINISH); /* All input is at hand. */
        *in = stream->x.next_in;
        *left = stream->x.avail_in;
        *out = stream->x.next_out;
        *room = stream->x.avail_out;
        return result == LZMA_STREAM_END ? 1 : result == LZMA_OK ? 0 : -1;
    }
    ZSTD_outBuffer output = {*out, *room, 0};
    ZSTD_inBuffer input = {*in, *left, 0};
    size_t result = ZSTD_decompressStream(stream->zstd, &output, &input);
    if (ZSTD_isError(result)) return -1;
    *in += input.pos;
    *left -= input.pos;
    *out += output.pos;
    *room -= output.pos;
    return result == 0 && *left == 0;
}

static inline void ccompression_end(struct ccompression_stream *stream) {
    if (stream->kind == CCOMPRESSION_GZIP) inflateEnd(&stream->z);
    if (stream->kind == CCOMPRESSION_XZ) lzma_end(&stream->x);
    if (stream->kind == CCOMPRESSION_ZSTD) ZSTD_freeDStream(stream->zstd);
}
