import CTestSupport

/// A RELAX NG schema, by libxml2.
final class RelaxNG {
    private let schema: xmlRelaxNGPtr

    /// Reads a schema; nil when it is not one.
    init?(path: String) {
        guard let parser = xmlRelaxNGNewParserCtxt(path) else { return nil }
        defer { xmlRelaxNGFreeParserCtxt(parser) }
        guard let schema = xmlRelaxNGParse(parser) else { return nil }
        self.schema = schema
    }

    deinit { xmlRelaxNGFree(schema) }

    /// Whether a document is well-formed and valid.
    func isValid(_ bytes: [UInt8]) -> Bool {
        let options =
            XML_PARSE_NONET.rawValue | XML_PARSE_NOERROR.rawValue | XML_PARSE_NOWARNING.rawValue
        let document = bytes.withUnsafeBytes { raw in
            xmlReadMemory(
                raw.bindMemory(to: CChar.self).baseAddress, Int32(raw.count), nil, nil,
                Int32(options))
        }
        guard let document else { return false }
        defer { xmlFreeDoc(document) }
        guard let context = xmlRelaxNGNewValidCtxt(schema) else { return false }
        defer { xmlRelaxNGFreeValidCtxt(context) }
        xmlRelaxNGSetValidStructuredErrors(context, { _, _ in }, nil)
        return xmlRelaxNGValidateDoc(context, document) == 0
    }
}
