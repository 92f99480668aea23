@testable import MirrorKit
import Testing

/// Addresses to listen at.
@Suite struct ListenAddressTests {
    @Test(
        arguments: [
            ("127.0.0.1:8080", "127.0.0.1:8080", true), ("localhost:0", "127.0.0.1:0", true),
            ("[::1]:65535", "[::1]:65535", true), ("0.0.0.0:80", "0.0.0.0:80", false),
            ("[0:0:0:0:0:0:0:1]:80", "[0:0:0:0:0:0:0:1]:80", true),
            ("[::0001]:80", "[::0001]:80", true), ("[fe80::1]:80", "[fe80::1]:80", false),
            ("[::]:80", "[::]:80", false), ("192.168.1.7:8080", "192.168.1.7:8080", false),
        ])
    func addressesAreRead(_ text: String, _ written: String, _ isLoopback: Bool) throws {
        let address = try #require(ListenAddress(text))
        #expect(address.description == written)
        #expect(address.isLoopback == isLoopback)
    }

    @Test(
        arguments: [
            "", "8080", ":8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
            "::1:80", "[127.0.0.1]:80", "[::1]", "example.org:80", "127.0.0.1:+80",
        ])
    func otherTextsAreNone(_ text: String) { #expect(ListenAddress(text) == nil) }
}
