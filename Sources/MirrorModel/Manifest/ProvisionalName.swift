/// The name of a file whose name only the server knows: the manifest gives a folder, and the URL ends in
/// no name.
///
/// It stands for the file in plans and events until the server has named it, and is never given to a
/// file. Different URLs have different ones, so that one folder can hold many.
package enum ProvisionalName {
    /// `unnamed-` and 16 hexadecimal digits that follow from the URL.
    package static func make(for url: SourceURL) -> String {
        // FNV-1a: nothing is at stake but that two URLs of one manifest do not meet.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in url.requestText.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return "unnamed-" + String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Whether a target has such a name for a URL.
    package static func isOf(_ target: Target, _ url: SourceURL) -> Bool {
        url.lastSegment == nil
            && target.path.utf8.elementsEqual((target.folder + "/" + make(for: url)).utf8)
    }
}
