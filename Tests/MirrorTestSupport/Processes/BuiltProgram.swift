internal import Glibc

/// Programs that the package builds, found beside the running test bundle.
public enum BuiltProgram {
    /// The absolute path of a product, e.g. `mirror`; `MIRROR_PROGRAM` names another one to test.
    public static func path(of product: String) -> String {
        if product == "mirror", let other = getenv("MIRROR_PROGRAM") {
            return String(cString: other)
        }
        let buffer = [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, count in
            count = buffer.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { max(0, readlink("/proc/self/exe", $0, text.count)) } ?? 0
            }
        }
        let bundle = String(decoding: buffer, as: UTF8.self)
        return bundle.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/" + product
    }

    /// Whether a program exists.
    public static func exists(_ path: String) -> Bool { access(path, X_OK) == 0 }
}
