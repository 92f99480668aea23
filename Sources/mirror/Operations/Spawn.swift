import Glibc

/// The start of another program, without a shell.
enum Spawn {
    /// Starts a program that is searched in PATH; returns 0, or the `errno` that says why not.
    ///
    /// - Parameter leadsGroup: whether it, and what it starts, are a process group of their own.
    static func start(
        _ words: [String], _ actions: inout posix_spawn_file_actions_t, _ environment: [String],
        _ pid: inout pid_t, leadsGroup: Bool = false
    ) -> Int32 {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // This process blocks signals in every thread; the program must not inherit that.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var defaults = sigset_t()
        sigemptyset(&defaults)
        sigaddset(&defaults, SIGPIPE)
        sigaddset(&defaults, SIGXFSZ)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        let group = leadsGroup ? POSIX_SPAWN_SETPGROUP : 0
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group))
        return withPointers(to: words) { arguments in
            withPointers(to: environment) { variables in
                posix_spawnp(&pid, words[0], &actions, &attributes, arguments, variables)
            }
        }
    }

    /// This process's variables, and others that replace those of their names.
    static func variables(adding added: [String: String] = [:]) -> [String] {
        var found: [String] = []
        var at = environ
        while let pointer = at.pointee {
            let text = String(cString: pointer)
            if added[String(text.prefix { $0 != "=" })] == nil { found.append(text) }
            at += 1
        }
        return found + added.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    }

    private static func withPointers<Result>(
        to texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) }
        pointers.append(nil)
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers)
    }
}
