// A user of the library imports MirrorKit and nothing else: the values of a manifest, a plan and a run,
// and what reads and writes manifests, come with it.
@_exported public import MirrorManifests
@_exported public import MirrorModel
