#pragma once
#include <dlfcn.h>
#include <libxml/xmlversion.h>
/* Debian's libxml2 shows its ICU types, whose headers differ from those that Foundation brings along: no
   module could then use both. They are only behind pointers in what is used here. */
#undef LIBXML_ICU_ENABLED
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/HTMLparser.h>
#include <stdio.h>
#include <string.h>

/* Loaded when the first manifest in XML is read: with ICU behind it, it takes longer to load than a
   whole run over a manifest in JSON. The structures must be those of the headers: the name is that of
   their interface, which changed with 2.14. */
#if LIBXML_VERSION >= 21400
#define CXML2_LIBRARY "libxml2.so.16"
#else
#define CXML2_LIBRARY "libxml2.so.2"
#endif

#define CXML2_FUNCTIONS(each) \
    each(InitParser) each(CreatePushParserCtxt) each(FreeParserCtxt) each(CtxtUseOptions) \
    each(ParseChunk) each(StopParser)

#define CXML2_HTML_FUNCTIONS(each) each(NewParserCtxt) each(CtxtReadMemory) each(FreeParserCtxt)

struct cxml2 {
#define CXML2_MEMBER(name) __typeof__(xml##name) *name;
    CXML2_FUNCTIONS(CXML2_MEMBER)
#undef CXML2_MEMBER
#define CXML2_MEMBER(name) __typeof__(html##name) *html##name;
    CXML2_HTML_FUNCTIONS(CXML2_MEMBER)
#undef CXML2_MEMBER
};

/* Loads libxml2 and fills the table: 0, or -1 with the reason in `problem`. It is never unloaded. */
static inline int cxml2_load(const char *name, struct cxml2 *xml, char *problem,
                             size_t room) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(problem, room, "%s", dlerror());
        return -1;
    }
#define CXML2_FIND(function) \
    if (!(xml->function = (__typeof__(xml->function))dlsym(library, "xml" #function))) { \
        snprintf(problem, room, "%s has no xml%s", name, #function); \
        return -1; \
    }
    CXML2_FUNCTIONS(CXML2_FIND)
#undef CXML2_FIND
#define CXML2_FIND(function) \
    if (!(xml->html##function = (__typeof__(xml->html##function))dlsym(library, "html" #function))) { \
        snprintf(problem, room, "%s has no html%s", name, #function); \
        return -1; \
    }
    CXML2_HTML_FUNCTIONS(CXML2_FIND)
#undef CXML2_FIND
    xml->InitParser();
    return 0;
}

static inline xmlParserCtxtPtr cxml2_create(const struct cxml2 *xml, xmlSAXHandlerPtr handlers,
                                            void *user) {
    return xml->CreatePushParserCtxt(handlers, user, NULL, 0, NULL);
}

static inline void cxml2_use_options(const struct cxml2 *xml, xmlParserCtxtPtr context,
                                     int options) {
    xml->CtxtUseOptions(context, options);
}

static inline void cxml2_parse(const struct cxml2 *xml, xmlParserCtxtPtr context,
                               const char *bytes, int count, int ends) {
    xml->ParseChunk(context, bytes, count, ends);
}

static inline void cxml2_stop(const struct cxml2 *xml, xmlParserCtxtPtr context) {
    xml->StopParser(context);
}

static inline void cxml2_free(const struct cxml2 *xml, xmlParserCtxtPtr context) {
    xml->FreeParserCtxt(context);
}

/* Reads a whole page of HTML in UTF-8 and calls the handlers; nothing is fetched. -1 without memory. */
static inline int cxml2_read_html(const struct cxml2 *xml, const char *bytes, int count,
                                  startElementSAXFunc start, endElementSAXFunc end,
                                  charactersSAXFunc text, void *user) {
    htmlParserCtxtPtr context = xml->htmlNewParserCtxt();
    if (!context) return -1;
    memset(context->sax, 0, sizeof *context->sax);
    context->sax->startElement = start;
    context->sax->endElement = end;
    context->sax->characters = text;
    context->userData = user;
    xml->htmlCtxtReadMemory(context, bytes, count, NULL, "UTF-8",
                            HTML_PARSE_NONET | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING);
    xml->htmlFreeParserCtxt(context);
    return 0;
}
