#pragma once
#include <libxml/xmlversion.h>
/* Debian's libxml2 shows its ICU types, whose headers differ from those that Foundation brings along: no
   module could then use both. They are only behind pointers in what is used here. */
#undef LIBXML_ICU_ENABLED
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/HTMLparser.h>
#include <string.h>

/* Reads a whole page of HTML in UTF-8 and calls the handlers; nothing is fetched. -1 without memory. */
static inline int cxml2_read_html(const char *bytes, int count, startElementSAXFunc start,
                                  endElementSAXFunc end, charactersSAXFunc text, void *user) {
    htmlParserCtxtPtr context = htmlNewParserCtxt();
    if (!context) return -1;
    memset(context->sax, 0, sizeof *context->sax);
    context->sax->startElement = start;
    context->sax->endElement = end;
    context->sax->characters = text;
    context->userData = user;
    htmlCtxtReadMemory(context, bytes, count, NULL, "UTF-8",
                       HTML_PARSE_NONET | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING);
    htmlFreeParserCtxt(context);
    return 0;
}
