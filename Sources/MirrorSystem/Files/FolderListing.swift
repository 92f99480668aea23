internal import CLinux
internal import Glibc

extension Descriptor {
    /// The names in an open folder, without `.` and `..`, in no order; a name that is not UTF-8 is
    /// none of mirror's and left out, and so are those that lack a text that was asked for.
    package func names(path: String, containing part: String? = nil) throws(Errno) -> [String] {
        // The stream takes a descriptor of its own: it moves the position, and closes it.
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
                // Most of a million names are none that is looked for: no String is made of those.
                let text = bytes.assumingMemoryBound(to: CChar.self).baseAddress
                if let part, let text, strstr(text, part) == nil { return nil }
                return String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let name, name != ".", name != ".." { names.append(name) }
        }
    }
}
