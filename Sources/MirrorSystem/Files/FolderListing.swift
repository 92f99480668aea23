internal import CLinux
internal import Glibc

extension Descriptor {
    /// The names in an open folder, without `.` and `..`, in no order.
    ///
    /// mirror makes no name that is not UTF-8, so such names are left out. With `part`, names that
    /// do not contain that text are left out too.
    package func names(path: String, containing part: String? = nil) throws(Errno) -> [String] {
        // The stream takes its own descriptor, because it moves the position and closes the
        // descriptor.
        let own = try retrying("openat", path) {
            linux_openat(number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        }
        guard let stream = fdopendir(own) else {
            close(own)
            throw Errno(number: linux_errno(), call: "fdopendir", path: path)
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                let number = linux_errno()
                if number == 0 { return names }
                throw Errno(number: number, call: "readdir", path: path)
            }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes -> String? in
                // In a folder of a million names most do not match: no String is made of those.
                let text = bytes.assumingMemoryBound(to: CChar.self).baseAddress
                if let part, let text, strstr(text, part) == nil { return nil }
                return String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let name, name != ".", name != ".." { names.append(name) }
        }
    }
}
