import MirrorTestSupport
@testable import MirrorTorture
import Testing

/// The watch over a program's writes must see one that goes astray.
struct WriteWatchTests {
    private func strays(_ log: String) -> [String] {
        WriteWatch.strays(
            WriteWatch.changes(in: log), root: "/r", links: ["/r/Caches/link"])
    }

    @Test(arguments: [
        "1 openat(3</r>, \"a\", O_RDWR|O_CREAT, 0644) = 4</out/a>",
        "1 openat(AT_FDCWD</r>, \"../a\", O_WRONLY|O_CREAT) = -1 EACCES (Permission denied)",
        "1 mkdirat(3</r>, \"../b\", 0755) = 0",
        "1 mkdir(\"/r/Caches/link/b\", 0755) = 0",
        "1 renameat2(3</r/tmp>, \"p\", 4</out>, \"a, b\", RENAME_NOREPLACE) = 0",
        "1 unlinkat(5</rr>, \"a\", 0) = 0",
        "1 symlink(\"/r/a\", \"/out/a\") = 0",
        "1 chmod(\"/r/../out\", 0777) = 0",
        "1 openat2(3</r>, \"x\", {flags=O_RDWR|O_CREAT, mode=0644, resolve=0}, 24) = 9</out/x>",
        "1 openat(AT_FDCWD</>, \"out\", O_RDONLY) = 7</out>\n1 unlink(\"/proc/self/fd/7/a\") = 0",
        "1 mkdirat(3</out>, <unfinished ...>\n2 open(\"/etc/a\", O_RDONLY) = 3</etc/a>\n"
            + "1 <... mkdirat resumed>\"b\", 0755) = 0",
        "1 unlink(\"/out/a\" <unfinished ...>\n2 open(\"/etc/a\", O_RDONLY) = 3</etc/a>\n"
            + "1 <... unlink resumed>) = 0",
    ])
    func aWriteOutsideIsSeen(_ log: String) { #expect(strays(log).count == 1) }

    @Test(arguments: [
        "1 openat(3</r>, \"a\", O_RDWR|O_CREAT, 0644) = 4</r/a>",
        "1 openat(AT_FDCWD</out>, \"/out/a\", O_RDONLY) = 4</out/a>",
        "1 renameat2(3</r/tmp>, \"p\", 4</r/Caches>, \"\\303\\251\", RENAME_NOREPLACE) = 0",
        "1 chdir(\"/out\") = 0\n1 unlink(\"/r/a\" <unfinished ...>\n"
            + "2 openat(AT_FDCWD</out>, \"a\", O_RDONLY) = 3</out/a>\n1 <... unlink resumed>) = 0",
        "1 linkat(3</out>, \"p\", 4</r/Caches>, \"a\", 0) = 0",
        "1 openat(AT_FDCWD</>, \"x\", O_RDONLY) = 7</r/.mirror>\n1 unlink(\"/proc/self/fd/7/a\") = 0",
    ])
    func aWriteInsideIsNone(_ log: String) {
        #expect(strays(log).isEmpty)
    }
}
