import Testing

@testable import MirrorKit

@Suite struct S3PlaceTests {
    @Test(arguments: [
        ("s3://maps/a/b.bin", "https://maps.s3.eu-west-1.amazonaws.com/a/b.bin"),
        ("s3://my.maps/a", "https://s3.eu-west-1.amazonaws.com/my.maps/a"),
        ("s3://maps/a%20b+c(1)=x", "https://maps.s3.eu-west-1.amazonaws.com/a%20b%2Bc%281%29%3Dx"),
        ("s3://maps/ä/~", "https://maps.s3.eu-west-1.amazonaws.com/%C3%A4/~"),
    ])
    func anObjectHasAnAddressAtAmazon(object: String, address: String) throws {
        let place = S3Place(region: "eu-west-1")
        #expect(place.address(of: try SourceURL(object)).requestText == address)
    }

    @Test(arguments: [
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000/maps/a/b"),
        ("https://s3.example/", "https://s3.example/maps/a/b"),
        ("https://s3.example/under/", "https://s3.example/under/maps/a/b"),
    ])
    func anotherEndpointHasTheBucketInItsPath(endpoint: String, address: String) throws {
        let place = S3Place(endpoint: try SourceURL(endpoint), region: "x")
        #expect(place.address(of: try SourceURL("s3://maps/a/b")).requestText == address)
    }

    /// The parameters are in the order that the signature wants.
    @Test func aFolderIsAListOfItsObjects() throws {
        let place = S3Place(endpoint: try SourceURL("http://e/"), region: "x")
        let folder = try SourceURL("s3://maps/a%20b/")
        #expect(
            place.document(folder).requestText == "http://e/maps?list-type=2&prefix=a%20b%2F")
        let next = try SourceURL("?continuation-token=x%2By%3D", relativeTo: folder)
        #expect(
            place.document(next).requestText
                == "http://e/maps?continuation-token=x%2By%3D&list-type=2&prefix=a%20b%2F")
        #expect(
            S3Place(region: "r").document(try SourceURL("s3://maps/")).requestText
                == "https://maps.s3.r.amazonaws.com/?list-type=2&prefix=")
    }

    @Test(arguments: ["s3://", "s3:///key", "s3://u:p@maps/a", "s3://maps:80/a", "s3://maps/a?b"])
    func otherTextsNameNoObject(text: String) {
        #expect(throws: SourceURLError.self) { try SourceURL(text) }
    }

    @Test func aClockThatIsWrongIsNamed() {
        let now = Instant(seconds: 1_800_000_000)
        let head = ResponseHead(
            status: 403, [("Date", HTTPDate(seconds: now.seconds - 7200).description)])
        let refusal = ResponseError(.httpStatus, "the server answered 403", status: 403)
        #expect(
            refusal.naming(clockOf: head, at: now, isSigned: true).cause.contains("2 h ahead"))
        #expect(refusal.naming(clockOf: head, at: now, isSigned: false) == refusal)
        let right = ResponseHead(
            status: 403, [("Date", HTTPDate(seconds: now.seconds).description)])
        #expect(refusal.naming(clockOf: right, at: now, isSigned: true) == refusal)
    }
}
