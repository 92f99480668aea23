import MirrorModel
import Testing

@testable import MirrorManifests
@testable import MirrorServer
@testable import MirrorSystem
@testable import MirrorTransfer

/// Libraries that are loaded when they are needed, and what is said where they are not there.
@Suite struct LoadedLibraryTests {
    @Test func aMissingLibcurlIsNamedWithWhatToDo() throws {
        let error = try #require(throws: MirrorError.self) {
            try CurlLibrary.load("libcurl-that-is-not-there.so.4").get()
        }
        #expect(error.code == .connectFailed)
        #expect(!error.isRetryable)
        #expect(error.message.contains("libcurl-that-is-not-there.so.4"))
        #expect(error.message.contains("Debian: libcurl4"))
    }

    @Test func aMissingLibxml2IsNamedWithWhatToDo() throws {
        let error = try #require(throws: MirrorError.self) {
            try XMLLibrary.load("libxml2-that-is-not-there.so").get()
        }
        #expect(error.code == .manifestUnreadable)
        #expect(error.message.contains("libxml2-that-is-not-there.so"))
        #expect(error.message.contains("Debian: libxml2"))
    }

    @Test func aMissingLibmicrohttpdIsNamedWithWhatToDo() throws {
        let error = try #require(throws: MirrorError.self) {
            try MicrohttpdLibrary.load("libmicrohttpd-that-is-not-there.so").get()
        }
        #expect(error.code == .inputOutput)
        #expect(error.message.contains("Debian: libmicrohttpd12"))
    }

    @Test func aMissingLibcryptoIsNamedWithWhatToDo() throws {
        let error = try #require(throws: MirrorError.self) {
            try CryptoLibrary.load("libcrypto-that-is-not-there.so.3").get()
        }
        #expect(error.message.contains("libcrypto-that-is-not-there.so.3"))
        #expect(error.message.contains("Debian: libssl3"))
    }

    /// A library of the right name that is another one has none of the functions.
    @Test func libraryWithoutTheNeededFunctionsIsRefused() throws {
        let error = try #require(throws: MirrorError.self) {
            try CurlLibrary.load("libsqlite3.so.0").get()
        }
        #expect(error.message.contains("libsqlite3.so.0 has no curl_global_init"))
        let other = try #require(throws: MirrorError.self) {
            try CryptoLibrary.load("libsqlite3.so.0").get()
        }
        #expect(other.message.contains("libsqlite3.so.0 has no EVP_MD_fetch"))
    }

    @Test func theLibrariesLoadOnThisMachine() throws {
        try CryptoLibrary.require()
        _ = try CurlLibrary.functions.get()
        _ = try XMLLibrary.functions.get()
        _ = try MicrohttpdLibrary.functions.get()
    }

    @Test func tlsIsPreparedByTheLibraryThatLibcurlBrought() throws {
        _ = try CurlLibrary.functions.get()
        #expect(CurlLibrary.prepareTLS())
        #expect(!CurlLibrary.prepareTLS(of: "libcurl-that-is-not-there.so.4"))
        // It is loaded, and brings no TLS.
        #expect(!CurlLibrary.prepareTLS(of: "libsqlite3.so.0"))
    }
}
