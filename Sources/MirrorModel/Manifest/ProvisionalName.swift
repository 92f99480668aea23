/// The name of a file whose real name only the server knows.
///
/// The manifest gives such a file a folder, and its URL ends in no name. The provisional name
/// stands for the file in plans and events until the server has named it, and no file ever gets it.
/// Different URLs have different provisional names, so that one folder can hold many such files.
package enum ProvisionalName {
    /// Makes `unnamed-` and 16 hexadecimal digits that follow from the URL.
    package static func make(for url: SourceURL) -> String {
        // FNV-1a suffices: it only has to keep apart the URLs of one manifest.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in url.requestText.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return "unnamed-" + String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Whether a target has the provisional name of a URL.
    package static func isOf(_ target: Target, _ url: SourceURL) -> Bool {
        url.lastSegment == nil
            && target.path.utf8.elementsEqual((target.folder + "/" + make(for: url)).utf8)
    }
}
