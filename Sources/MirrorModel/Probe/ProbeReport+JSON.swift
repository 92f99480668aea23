extension ProbeReport {
    /// Writes the report as members of an object; what is not known is null.
    public func writeMembers(to json: inout JSONWriter) {
        let safety = ResumeSafety(self)
        json.member("url", url)
        json.member("redirects", redirects)
        json.member("status", status)
        json.member("version", version)
        json.member("size", size)
        json.member("type", mediaType)
        json.member("etag", validators.entityTag?.text)
        json.member("lastModified", validators.lastModified?.description)
        json.member("validator", validators.strong.map(Self.word))
        json.member("ranges", ranges.rawValue)
        json.member("encoding", contentCoding)
        json.member("name", name)
        json.member("freshUntil", freshUntil?.rfc3339)
        json.member("resumes", isGood && safety.isSafe)
        json.member("resumeReason", isGood ? safety.code : nil)
        json.member("because", isGood ? safety.sentence : nil)
        json.key("error")
        if let error {
            json.object { error.writeMembers(to: &$0) }
        } else {
            json.null()
        }
    }

    private static func word(for strong: StrongValidator) -> String {
        switch strong {
        case .entityTag: "etag"
        case .lastModified: "last-modified"
        }
    }
}
