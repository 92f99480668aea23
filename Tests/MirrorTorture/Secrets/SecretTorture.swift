internal import MirrorTestSupport

/// Tokens, logins, signatures and cookies: each is seen where it belongs, and nowhere else.
enum SecretTorture: TortureClass {
    static let name = "R13"
    static let title = "secrets across redirects, mirrors, proxies and errors"
    static let trials = 1000

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        var tally = Tally()
        let stage = try SecretStage(program: program, seed: seed)
        defer { stage.end() }
        for story in SecretCase.all.spread(trials) {
            tally.count(story.title, try stage.wrong(in: story))
        }
        if BuiltProgram.exists(Nginx.program) {
            let certificates = try CertificateCases(program: program)
            defer { certificates.end() }
            try certificates.count(in: &tally)
        } else {
            tally.notes.append("client certificates were not tried: nginx is not here")
        }
        tally.notes.append(
            "\(Secret.allCases.count) kinds of secrets; output of 8 verbs, files, argument lists")
        return tally
    }
}
