internal import CLinux
internal import Glibc

/// The options that a root's `.mirror/settings.json` sets for every command on this root.
///
/// The file is a JSON object; its keys are long option names without their dashes. The command
/// decides which names and values are right. A manifest cannot set any of these options.
package struct DeviceSettings: Sendable {
    /// The settings in the order of the file.
    package private(set) var settings: [Setting] = []
    /// The path of the file, for people.
    let path: String
    /// Whether only this process's user and root can have written the file.
    ///
    /// Write permission for a group is not checked.
    package private(set) var isOwn = true

    /// An option and its value.
    package struct Setting: Sendable, Hashable {
        /// The option's long name, without dashes.
        package var name: String
        package var value: Value
        /// `line`, `column`: the place of the name in the file, counted from 1.
        var line: Int
        var column: Int
    }

    /// The value of an option.
    package enum Value: Sendable, Hashable {
        /// A flag: whether the option is passed.
        case flag(Bool)
        /// One value, or several values of an option that may be repeated.
        case texts([String])
    }

    /// Reads the settings of a root. The list is empty without a root or a file.
    ///
    /// Throws `ManifestError` with the places of the errors, or `MirrorError` with `rootUnusable`
    /// or `inputOutput`.
    package init(ofRoot root: String?) throws {
        let location = try RootLocation(root: root)
        path = location.path + "/" + DeviceSettings.name
        guard let folder = try location.openIfThere() else { return }
        let file: Descriptor
        do throws(Errno) {
            file = try folder.openFile(DeviceSettings.name)
        } catch {
            if error.number == ENOENT { return }
            throw MirrorError(error)
        }
        let bytes: [UInt8]
        do throws(Errno) {
            let status = try file.status(path: path)
            isOwn = [0, geteuid()].contains(status.user) && status.mode & 0o002 == 0
            bytes = try file.bytes(at: 0, count: DeviceSettings.longest, path: path)
        } catch { throw MirrorError(error) }
        settings = try DeviceSettings.parse(bytes, file: path)
    }

    /// Empty settings, for a place that cannot be a root.
    package init() { path = "" }

    /// Parses a settings file's text. Throws `ManifestError`.
    init(text: String, path: String) throws(ManifestError) {
        self.path = path
        settings = try DeviceSettings.parse(Array(text.utf8), file: path)
    }

    private static let name = ".mirror/settings.json"
    private static let longest = 1 << 20

    private static func parse(_ bytes: [UInt8], file: String) throws(ManifestError) -> [Setting] {
        let tree = try JSONTree(bytes, file: file)
        guard case .object(let members) = tree.value else {
            throw ManifestError(
                file: file, at: tree.place,
                "the settings are an object, such as { \"jobs\": 4 }")
        }
        var settings: [Setting] = []
        for member in members {
            guard let value = Value(member.value) else {
                throw ManifestError(
                    file: file, at: member.value.place,
                    "\(member.key): write a text, a number, true, false, or a list of texts")
            }
            settings.append(
                Setting(
                    name: member.key, value: value, line: member.place.line,
                    column: member.place.column))
        }
        return settings
    }

    /// The error for a wrong setting, with its place in the file.
    package func refusal(of setting: Setting, _ message: String) -> ManifestError {
        ManifestError(
            file: path, at: TextPosition(line: setting.line, column: setting.column), message)
    }

    /// The value of an option. Returns nil if the file does not set the option.
    package subscript(name: String) -> Value? { settings.first { $0.name == name }?.value }

    /// Sets an option and rewrites the file. `nil` removes the option.
    ///
    /// Throws `MirrorError` with `inputOutput`, `noSpace` and the like; then the old file stays.
    package mutating func set(_ name: String, to value: Value?) throws {
        let position = settings.firstIndex { $0.name == name }
        switch (value, position) {
        case (let value?, let position?): settings[position].value = value
        case (let value?, nil):
            settings.append(Setting(name: name, value: value, line: 0, column: 0))
        case (nil, let position?): settings.remove(at: position)
        case (nil, nil): return
        }
        let bytes = text
        try ReplacedFile.write(bytes, to: path)
    }

    private var text: [UInt8] {
        var json = JSONWriter(indentation: 2)
        json.object { json in
            for setting in settings {
                json.key(named: setting.name)
                switch setting.value {
                case .flag(let flag): json.boolean(flag)
                case .texts(let texts) where texts.count == 1: json.string(texts[0])
                case .texts(let texts): json.array { for text in texts { $0.string(text) } }
                }
            }
        }
        json.newline()
        return json.bytes
    }
}

extension DeviceSettings.Value {
    /// Reads the value of a member. Returns nil for null, an object, or a list with other values
    /// than texts.
    fileprivate init?(_ tree: JSONTree) {
        switch tree.value {
        case .boolean(let flag): self = .flag(flag)
        case .string(let text), .number(let text): self = .texts([text])
        case .array(let elements):
            let texts = elements.compactMap { element in
                switch element.value {
                case .string(let text), .number(let text): text
                default: String?.none
                }
            }
            guard texts.count == elements.count else { return nil }
            self = .texts(texts)
        case .object, .null: return nil
        }
    }

    /// The value as text for people.
    package var text: String {
        switch self {
        case .flag(let flag): flag ? "true" : "false"
        case .texts(let texts): texts.joined(separator: ", ")
        }
    }
}

/// A small file outside the tree that is read and replaced only as a whole.
package enum ReplacedFile {
    /// Replaces the file's bytes. Throws `MirrorError`; then the old file stays.
    package static func write(_ bytes: [UInt8], to path: String) throws {
        try FileReplacement(of: path).write { try $0(bytes) }
    }

    /// The longest wait for other changes in the same folder, in milliseconds.
    ///
    /// The wait is shorter than the five seconds for which a client waits for the reply of a run.
    private static let longestWait: Int64 = 4_000

    /// Runs a closure that reads and replaces a file of a folder, one call at a time for the
    /// folder.
    ///
    /// Without this lock, the later of two changes would undo the other. If the folder does not
    /// exist or cannot be locked (flock(2)), the closure runs without a lock. Throws `MirrorError`
    /// with `locked` if another change takes more than four seconds, and what the closure throws.
    package static func changing<Value>(
        in folder: String, _ body: () throws -> Value
    ) throws -> Value {
        let number = linux_openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard number >= 0 else { return try body() }
        let hold = Descriptor(owning: number)
        let end = SystemClock.monotonic() + longestWait
        while linux_flock(hold.number, LOCK_EX | LOCK_NB) == -EWOULDBLOCK {
            guard SystemClock.monotonic() < end else {
                throw MirrorError(
                    .locked,
                    "\(folder.printable): others have been changing files in it for seconds. Try again later."
                )
            }
            usleep(10_000)
        }
        return try withExtendedLifetime(hold) { try body() }
    }

    /// The text of a regular file, of at most a mebibyte unless `longest` says otherwise.
    ///
    /// Throws `MirrorError` with `inputOutput`.
    package static func text(at path: String, longest: Int64 = 1 << 20) throws -> String {
        do throws(Errno) {
            let file = Descriptor(
                owning: try retrying("open", path) {
                    linux_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0)
                })
            // A read of a pipe would wait for its writer.
            let status = try file.status(path: path)
            guard status.isFile else {
                throw Errno(number: EINVAL, call: "open", path: path)
            }
            // The kernel gives files such as those of /proc a size of 0.
            let count = longest > 1 << 20 ? max(status.stamp.size, 1 << 20) : longest
            if count > longest { throw Errno(number: EFBIG, call: "read", path: path) }
            return String(
                decoding: try file.bytes(at: 0, count: Int(count), path: path), as: UTF8.self)
        } catch { throw MirrorError(error) }
    }
}

extension PausedTargets {
    private static let name = ".mirror/paused.json"
    private static let longest = 16 << 20

    /// Reads the paused targets of a root. Without a root, none are paused.
    init(at location: RootLocation) throws {
        if let root = try location.openIfThere() {
            try self.init(in: root)
        } else {
            self.init()
        }
    }

    /// Reads the paused targets, and writes them if the closure has changed them, one caller at a
    /// time.
    ///
    /// Blocks the calling thread.
    static func change<Value>(
        at location: RootLocation, _ change: (inout PausedTargets) -> Value
    ) throws -> Value {
        try ReplacedFile.changing(in: location.path + "/.mirror") {
            let before = try PausedTargets(at: location)
            var paused = before
            let value = change(&paused)
            if paused != before { try paused.write(toRoot: location.path) }
            return value
        }
    }

    init(in root: RootDirectory) throws {
        let path = root.path + "/" + PausedTargets.name
        let bytes: [UInt8]
        do throws(Errno) {
            let file = try root.openFile(PausedTargets.name)
            bytes = try file.bytes(at: 0, count: PausedTargets.longest, path: path)
        } catch {
            guard error.number == ENOENT else { throw MirrorError(error) }
            self.init()
            return
        }
        guard let tree = try? JSONTree(bytes, file: path) else {
            throw MirrorError(
                .inputOutput,
                "\(path): this file is no JSON, so it is not known what is paused. Remove it to resume everything."
            )
        }
        let targets = tree["targets"]?.elements ?? []
        self.init(
            all: tree["all"]?.bool ?? false,
            Set(targets.compactMap { $0.string.flatMap { try? Target($0) } }))
    }

    private func write(toRoot root: String) throws {
        let path = root + "/" + PausedTargets.name
        guard !isEmpty else {
            if unlink(path) != 0, errno != ENOENT {
                throw MirrorError(Errno(number: errno, call: "unlink", path: path))
            }
            return
        }
        var json = JSONWriter(indentation: 2)
        json.object { json in
            json.member("v", 1)
            json.member("all", all)
            json.member("targets", targets.sorted().map(\.path))
        }
        json.newline()
        try ReplacedFile.write(json.take(), to: path)
    }
}
