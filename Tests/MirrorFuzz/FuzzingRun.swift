#if FUZZING
    internal import Glibc
    internal import MirrorFuzzing

    // What libFuzzer's main calls (llvm.org/docs/LibFuzzer.html).

    // The parser under trial: set once, before the loop that reads it begins.
    nonisolated(unsafe) private var parser: FuzzedParser?

    @_cdecl("LLVMFuzzerInitialize")
    func begin(
        _ count: UnsafeMutablePointer<Int32>?,
        _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?
    ) -> Int32 {
        parser = FuzzCommand.parser()
        return 0
    }

    @_cdecl("LLVMFuzzerTestOneInput")
    func trial(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
        let input = Array(UnsafeBufferPointer(start: bytes, count: count))
        guard let flaw = parser?.flaw(input) else { return 0 }
        let line = Array("FLAW: \(flaw)\n".utf8)
        _ = write(2, line, line.count)
        abort()
    }
#endif
