package import Glibc

/// A folder of the test's own with plain calls to look at it and change it.
public struct Folder: Sendable {
    /// The absolute path, without a slash at the end.
    public let path: String

    /// Takes an existing folder.
    public init(_ path: String) { self.path = path }

    /// A place in memory where there is one, for files so many that a disk takes long to delete them.
    public static let memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"

    /// Makes an empty folder below another, `/tmp` by default.
    public static func temporary(in parent: String = "/tmp") throws(SystemFailure) -> Folder {
        var path = Array("\(parent)/mirror-test-XXXXXX".utf8CString)
        let made = path.withUnsafeMutableBufferPointer { buffer -> String? in
            buffer.baseAddress.flatMap(mkdtemp).map { String(cString: $0) }
        }
        guard let made else { throw SystemFailure("mkdtemp", parent, errno: errno) }
        return Folder(made)
    }

    /// Deletes the folder and everything in it.
    public func remove() {
        for entry in entries().reversed() {
            _ = entry.isFolder ? rmdir(full(entry.name)) : unlink(full(entry.name))
        }
        rmdir(path)
    }

    /// The absolute path of a name.
    public func full(_ name: String) -> String { name.isEmpty ? path : "\(path)/\(name)" }

    /// A file or folder below this one.
    public struct Child: Sendable {
        /// The path from the folder.
        public let name: String
        /// Whether it is a folder itself; a symbolic link is not.
        public let isFolder: Bool
    }

    /// All files and folders below, folders before what is in them, in the order of their bytes.
    public func entries(beneath name: String = "") -> [Child] {
        let names = names(in: name).map { name.isEmpty ? $0 : "\(name)/\($0)" }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.flatMap { child in
            let isFolder = status(child).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
            return [Child(name: child, isFolder: isFolder)]
                + (isFolder ? entries(beneath: child) : [])
        }
    }

    /// The names in a folder, in no order; none when it cannot be read.
    package func names(in name: String) -> [String] {
        guard let stream = opendir(full(name)) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let length = Int(strlen(&entry.pointee.d_name.0))
            let bytes = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix(length)) }
            let child = String(decoding: bytes, as: UTF8.self)
            if child != ".", child != ".." { names.append(child) }
        }
        return names
    }

    /// The bytes of a file; nil when there is none.
    public func read(_ name: String) -> [UInt8]? {
        let file = fopen(full(name), "re")
        guard let file else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while true {
            let block = [UInt8](unsafeUninitializedCapacity: 1 << 18) { buffer, count in
                count = fread(buffer.baseAddress, 1, buffer.count, file)
            }
            if block.isEmpty { return bytes }
            bytes += block
        }
    }

    /// Writes a file again in place, or adds to its end; makes the folders above it.
    public func write(_ name: String, _ bytes: [UInt8], mode: String = "we") throws(SystemFailure) {
        try makeFolders(above: name)
        guard let file = fopen(full(name), mode) else {
            throw SystemFailure("fopen", full(name), errno: errno)
        }
        defer { fclose(file) }
        guard fwrite(bytes, 1, bytes.count, file) == bytes.count else {
            throw SystemFailure("fwrite", full(name), errno: errno)
        }
    }

    /// Makes the folders that a name's components say, without the last.
    public func makeFolders(above name: String) throws(SystemFailure) {
        let components = name.split(separator: "/").dropLast()
        for count in components.indices {
            let folder = components[...count].joined(separator: "/")
            guard mkdir(full(folder), 0o755) == 0 || errno == EEXIST else {
                throw SystemFailure("mkdir", full(folder), errno: errno)
            }
        }
    }

    /// Where a symbolic link leads; nil for anything else.
    package func link(_ name: String) -> String? {
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, count in
            count = buffer.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { max(0, readlink(full(name), $0, text.count)) } ?? 0
            }
        }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// The size of a file in bytes; nil when there is none.
    public func size(_ name: String) -> Int? { status(name).map { Int($0.st_size) } }

    /// What lstat(2) says of a name.
    package func status(_ name: String) -> stat? {
        var status = stat()
        return lstat(full(name), &status) == 0 ? status : nil
    }
}
