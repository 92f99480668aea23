internal import MirrorModel
internal import MirrorSystem

/// Transfers from `file:` sources, which workers read.
extension TransferEngine {
    /// Opens the source file on a worker.
    package func open(_ plan: RequestPlan, for transfer: Transfer) {
        transfer.state = .working
        let (id, inbox) = (transfer.job.id, inbox)
        guard let path = plan.url.filePath else {
            return decide(transfer) {
                $0.refused(Refusal(.sourceFileUnreadable, "its path cannot be a file's"))
            }
        }
        copiers.submit {
            do throws(Refusal) {
                inbox.post(.fileOpened(id, try FileSource(path: path)))
            } catch {
                inbox.post(.sourceRefused(id, error))
            }
        }
    }

    /// Evaluates the file like a server's response. A worker copies its bytes where they are
    /// wanted.
    package func opened(_ source: FileSource, for transfer: Transfer) {
        guard let plan = transfer.plan else { return }
        dispatcher.answered(transfer.job.id)
        let now = clock.now()
        guard let action = transfer.machine?.answered(source.answer(to: plan, at: now), at: now)
        else {
            return
        }
        guard case .receive(let reception) = action.next else { return act(action, transfer) }
        do {
            try receive(reception, action: action, transfer, isCopied: true)
            if source.size > IncomingBody.memoryLimit {
                try transfer.body?.spill(now: clock.monotonic())
            }
        } catch { return fail(transfer, error) }
        guard let body = transfer.body else { return }
        copy(source, into: body, for: transfer)
    }

    private func copy(_ source: FileSource, into body: IncomingBody, for transfer: Transfer) {
        let (id, inbox, cancellation) = (transfer.job.id, inbox, transfer.cancellation)
        guard let file = body.file else {
            copiers.submit {
                do throws(Errno) {
                    let bytes = try source.readAll()
                    let copied = CopiedBytes(
                        memory: bytes, length: Int64(bytes.count),
                        failure: source.change())
                    inbox.post(.fileCopied(id, copied))
                } catch {
                    inbox.post(.sourceRefused(id, FileSource.refusal(error)))
                }
            }
            return
        }
        let target = transfer.job.target
        body.pipeline.submit { digests in
            do throws(Errno) {
                let length = try source.copy(
                    to: file, digests: &digests, isCancelled: { cancellation.isRequested })
                let copied = CopiedBytes(memory: nil, length: length, failure: source.change())
                inbox.post(.fileCopied(id, copied))
            } catch {
                guard source.isCause(of: error) else {
                    return inbox.post(.broken(id, MirrorError(error, target: target)))
                }
                let refusal = FileSource.refusal(error)
                let failure = TransportFailure(
                    refusal.code, refusal.cause, isPassing: false, wasSent: true)
                inbox.post(.fileCopied(id, CopiedBytes(memory: nil, length: 0, failure: failure)))
            }
        }
    }

    /// Takes the copied bytes into the body.
    func copied(_ bytes: CopiedBytes, for transfer: Transfer) {
        guard let body = transfer.body else { return }
        if let failure = bytes.failure {
            return decide(transfer) { $0.interrupted(failure, length: 0) }
        }
        do {
            if let memory = bytes.memory {
                let now = clock.monotonic()
                let outcome = memory.withUnsafeBytes { memory in
                    Result<Void, MirrorError> { () throws(MirrorError) in
                        try body.append(memory, now: now)
                    }
                }
                try outcome.get()
            } else {
                body.adopt(copied: bytes.length)
            }
        } catch { return fail(transfer, error) }
        let length = body.length
        decide(transfer) { $0.bodyEnded(length: length) }
    }
}
