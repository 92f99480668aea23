internal import CLinux
internal import Glibc

extension Descriptor {
    /// The names in an open folder, without `.` and `..`, in no order.
    ///
    /// mirror makes no name that is not UTF-8, so such names are left out. With `part`, names that
    /// do not contain that text are left out too.
    package func names(path: String, containing part: String? = nil) throws(Errno) -> [String] {
        var names: [String] = []
        try forEachName(path: path) { bytes in
            let text = bytes.assumingMemoryBound(to: CChar.self).baseAddress
            // In a folder of a million names most do not match: no String is made of those.
            if let part, let text, strstr(text, part) == nil { return }
            let name = String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self)
            if let name, name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// The names in an open folder; nil where one is not UTF-8.
    package func allNames(path: String) throws(Errno) -> [String]? {
        // Others may change the folder meanwhile, so it is read once.
        var names: [String] = []
        var isWhole = true
        try forEachName(path: path) { bytes in
            guard let name = String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self) else {
                isWhole = false
                return
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return isWhole ? names : nil
    }

    /// Passes on each name, ended by NUL, in no order.
    private func forEachName(
        path: String, _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(Errno) {
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
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                let number = linux_errno()
                if number == 0 { return }
                throw Errno(number: number, call: "readdir", path: path)
            }
            withUnsafeBytes(of: &entry.pointee.d_name) { body($0) }
        }
    }
}
