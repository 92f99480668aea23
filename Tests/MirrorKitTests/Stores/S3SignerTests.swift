import MirrorTestSupport
import Testing

@testable import MirrorKit

@Suite struct S3SignerTests {
    @Test func theEnvironmentComesBeforeTheFiles() throws {
        let home = try Home()
        try home.write(
            "credentials", "[default]\naws_access_key_id = f\naws_secret_access_key = g\n")
        let fromFiles = try home.signer()
        #expect(fromFiles.keys == .init(id: "f", secret: "g"))
        let fromEnvironment = try home.signer([
            "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_SESSION_TOKEN": "c",
            "AWS_REGION": "eu-west-1",
        ])
        #expect(fromEnvironment.keys == .init(id: "a", secret: "b", token: "c"))
        #expect(fromEnvironment.scheme == "aws:amz:eu-west-1:s3")
    }

    @Test func aProfileHasItsSections() throws {
        let home = try Home()
        try home.write(
            "credentials",
            "[default]\naws_access_key_id=no\naws_secret_access_key=no\n\n[lab]\n"
                + "# of the lab\naws_access_key_id = l=1\naws_secret_access_key= m\n"
                + "aws_session_token =n\n")
        try home.write(
            "config",
            "[default]\nregion=no\n[profile lab]\nregion = eu-north-1\n"
                + "endpoint_url = https://s3.lab.example\ns3 =\n  region = indented\n")
        let signer = try home.signer(["AWS_PROFILE": "lab"])
        #expect(signer.keys == .init(id: "l=1", secret: "m", token: "n"))
        #expect(signer.place.region == "eu-north-1")
        #expect(signer.place.endpoint?.description == "https://s3.lab.example/")
    }

    @Test func keysThatWereReplacedAreFound() throws {
        let home = try Home()
        try home.write("credentials", "[default]\naws_access_key_id=1\naws_secret_access_key=2\n")
        let signer = try home.signer()
        #expect(!signer.refresh())
        try home.write("credentials", "[default]\naws_access_key_id=3\naws_secret_access_key=4\n")
        #expect(signer.refresh())
        #expect(signer.keys == .init(id: "3", secret: "4"))
        // Another request that was signed before asks a moment later.
        #expect(signer.refresh())
        // A file that is being written has no keys yet.
        try home.write("credentials", "")
        _ = signer.refresh()
        #expect(signer.keys == .init(id: "3", secret: "4"))
    }

    @Test func withoutKeysNothingIsSigned() throws {
        #expect(try Home().signer().keys == nil)
    }

    @Test(arguments: ["ftp://x", "x", "https://u:p@x/"])
    func aWrongEndpointIsRefused(endpoint: String) throws {
        let home = try Home()
        #expect(throws: MirrorError.self) { try home.signer(["AWS_ENDPOINT_URL": endpoint]) }
    }

    /// A home with files of the AWS tools.
    private struct Home {
        private let folder: TemporaryFolder

        init() throws { folder = try TemporaryFolder() }

        func write(_ name: String, _ text: String) throws {
            try folder.write(text, to: ".aws/" + name)
        }

        /// A signer that sees this home and these variables only.
        func signer(_ variables: [String: String] = [:]) throws -> S3Signer {
            let all = variables.merging(["HOME": folder.path]) { $1 }
            return try S3Signer(Configuration(), environment: { all[$0] })
        }
    }
}
