internal import MirrorModel

/// The functions of a C library that is loaded when they are first needed (dlopen(3)).
///
/// Their table is filled once, before other code can see it, and never changed or freed.
package struct LoadedLibrary<Table>: @unchecked Sendable {
    /// The functions, valid as long as the process lives.
    package let table: UnsafePointer<Table>

    /// Why a library could not be loaded.
    package struct Failure: Error {
        /// The loader's message, fit to be shown.
        package let words: String
    }

    /// Fills a table by a C function that returns 0, or another number and an error message.
    package init(
        _ empty: Table,
        by load: (UnsafeMutablePointer<Table>, UnsafeMutablePointer<CChar>, Int) -> Int32
    ) throws(Failure) {
        let table = UnsafeMutablePointer<Table>.allocate(capacity: 1)
        table.initialize(to: empty)
        var problem = [CChar](repeating: 0, count: 512)
        guard load(table, &problem, problem.count) == 0 else {
            table.deallocate()
            let words = String(
                decoding: problem.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            throw Failure(words: Escaped(words, limit: 300).description)
        }
        self.table = UnsafePointer(table)
    }
}
