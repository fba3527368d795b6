import { anything, integer, optional, resource, text, timestamp, uuid } from '@hyperplane/contract'

const accountsOfThatInstance = 'belongs to that instance; this one begins its own'

export const RememberedAnswer = resource('internal.v1.core.RememberedAnswer', {
  fields: { fingerprint: text(), status: integer(), answer: text(), expires: timestamp() },
  indexed: ['expires'],
  leftOut: { what: 'answers to requests that may be repeated', instead: accountsOfThatInstance },
})

/** Append-only; each row holds the hash of the one before. Source: conventions 21. */
export const AuditRecord = resource('internal.v1.core.AuditRecord', {
  fields: {
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
    decision: optional(text()),
    previous: text(),
    hash: text(),
  },
  indexed: ['time'],
  leftOut: { what: 'the audit trail', instead: accountsOfThatInstance },
})

export const coreRecords = [RememberedAnswer, AuditRecord]
