/**
 * Kinds of the machinery itself: remembered answers and the audit trail. Stored like any kind, shown by no operation.
 */
import { anything, integer, optional, resource, text, timestamp, uuid } from '@hyperplane/contract'

/** The remembered answer to a mutation, by caller and request id. Source: conventions 6. */
export const RememberedAnswer = resource(
  'internal.v1.core.RememberedAnswer',
  { fingerprint: text(), status: integer(), answer: text(), expires: timestamp() },
  { indexed: ['expires'] },
)

/** One attempt to change something, or to sign in. Append-only, each row holds the hash of the one before. Source: conventions 21. */
export const AuditRecord = resource(
  'internal.v1.core.AuditRecord',
  {
    time: timestamp(),
    requestId: optional(text()),
    identity: optional(uuid()),
    identityName: optional(text()),
    credential: text(),
    address: text(),
    operation: text(),
    target: optional(text()),
    status: integer(),
    code: optional(text()),
    task: optional(text()),
    changed: optional(anything()),
    dryRun: optional(text()),
    /** The policy that allowed it, or what was missing. */
    decision: optional(text()),
    previous: text(),
    hash: text(),
  },
  { indexed: ['time'] },
)

export const coreRecords = [RememberedAnswer, AuditRecord]
