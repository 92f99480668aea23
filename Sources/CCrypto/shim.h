#pragma once
#include <dlfcn.h>
#include <openssl/evp.h>
#include <openssl/opensslv.h>
#include <stdio.h>

/* Loading libcrypto takes a tenth of a run that finds nothing to do and needs no digest. So nothing is linked: it
   is loaded beside other work, and called through this table. Its name carries the version of its interface. */
#define CCRYPTO_TEXT_OF(version) "libcrypto.so." #version
#define CCRYPTO_NAME_OF(version) CCRYPTO_TEXT_OF(version)
static inline const char *ccrypto_library(void) { return CCRYPTO_NAME_OF(OPENSSL_SHLIB_VERSION); }

#define CCRYPTO_FUNCTIONS(each) \
    each(MD_fetch) each(MD_CTX_new) each(MD_CTX_free) each(MD_CTX_copy_ex) each(DigestInit_ex) \
    each(DigestUpdate) each(DigestFinal_ex)

struct ccrypto {
#define CCRYPTO_MEMBER(name) __typeof__(EVP_##name) *name;
    CCRYPTO_FUNCTIONS(CCRYPTO_MEMBER)
#undef CCRYPTO_MEMBER
};

/* Loads libcrypto and fills the table: 0, or -1 with the reason in `problem`. It is never unloaded. */
static inline int ccrypto_load(const char *name, struct ccrypto *crypto, char *problem, size_t room) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(problem, room, "%s", dlerror());
        return -1;
    }
#define CCRYPTO_FIND(function) \
    if (!(crypto->function = (__typeof__(crypto->function))dlsym(library, "EVP_" #function))) { \
        snprintf(problem, room, "%s has no EVP_%s", name, #function); \
        return -1; \
    }
    CCRYPTO_FUNCTIONS(CCRYPTO_FIND)
#undef CCRYPTO_FIND
    return 0;
}

static inline EVP_MD *ccrypto_fetch(const struct ccrypto *crypto, const char *algorithm) {
    return crypto->MD_fetch(NULL, algorithm, NULL);
}

static inline EVP_MD_CTX *ccrypto_new(const struct ccrypto *crypto) { return crypto->MD_CTX_new(); }

static inline void ccrypto_free(const struct ccrypto *crypto, EVP_MD_CTX *context) {
    crypto->MD_CTX_free(context);
}

static inline void ccrypto_begin(const struct ccrypto *crypto, EVP_MD_CTX *context,
                                 const EVP_MD *algorithm) {
    crypto->DigestInit_ex(context, algorithm, NULL);
}

static inline void ccrypto_copy(const struct ccrypto *crypto, EVP_MD_CTX *context,
                                const EVP_MD_CTX *other) {
    crypto->MD_CTX_copy_ex(context, other);
}

static inline void ccrypto_update(const struct ccrypto *crypto, EVP_MD_CTX *context, const void *bytes,
                                  size_t count) {
    crypto->DigestUpdate(context, bytes, count);
}

/* How many bytes the digest has that was written to `bytes`. */
static inline unsigned ccrypto_finish(const struct ccrypto *crypto, EVP_MD_CTX *context,
                                      unsigned char *bytes) {
    unsigned length = 0;
    return crypto->DigestFinal_ex(context, bytes, &length) == 1 ? length : 0;
}
