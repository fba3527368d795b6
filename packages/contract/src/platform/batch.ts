/** Source: specification 2.3, 4.4, 5, 8; catalogue platform.json; behaviour platform.md 3, 11, conventions.md 20. */
import { names } from '../names.ts'
import { action, get, list, perSecond, resource } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import * as s from '../schema.ts'

const BatchSpecMetadata = s.object('platform.v4.operations.BatchSpecMetadata', {
  action: s.enumeration(['CREATE', 'MODIFY', 'ACTION', 'DELETE']),
  name: s.text({ minLength: 1, maxLength: 256 }),
  /** URI of the operation for each element, `/api/<namespace>/<version>/…`, path variables in braces. */
  uri: s.text({ named: 'href', pattern: '^/api/[a-z-]{2,16}/v[0-9]+\\.[0-9]+(?:\\.[a-z][0-9]+)?/.*$' }),
  shouldStopOnError: s.withDefault(s.boolean(), false),
  /** Elements that run at the same time. */
  chunkSize: s.withDefault(s.integer({ minimum: 1, maximum: 500 }), 1),
})

const BatchSpecPayload = s.object('platform.v4.operations.BatchSpecPayload', {
  metadata: s.optionalObject('platform.v4.operations.BatchSpecPayloadMetadata', {
    headers: s.optional(
      s.arrayOf(
        s.object('platform.v4.operations.BatchSpecPayloadMetadataHeader', {
          name: s.text({ maxLength: 256 }),
          value: s.text(),
        }),
        { maxItems: 500 },
      ),
    ),
    path: s.optional(
      s.arrayOf(
        s.object('platform.v4.operations.BatchSpecPayloadMetadataPath', {
          name: s.text({ maxLength: 256 }),
          value: s.text(),
        }),
        { maxItems: 500 },
      ),
    ),
  }),
  /** Validated by the operation that it invokes. */
  data: s.optional(s.anything()),
})

export const BatchSpec = s.object('platform.v4.operations.BatchSpec', {
  metadata: BatchSpecMetadata,
  payload: s.arrayOf(BatchSpecPayload, { minItems: 1, maxItems: 500 }),
})

/** Kept 90 days. Its id is the id of its task. */
export const Batch = resource('platform.v4.operations.Batch', {
  fields: {
    name: s.readOnly(s.text({ maxLength: 256 })),
    size: s.readOnly(s.integer({ minimum: 0 })),
    successCount: s.readOnly(s.integer({ minimum: 0 })),
    failedCount: s.readOnly(s.integer({ minimum: 0 })),
    shouldStopOnError: s.readOnly(s.boolean()),
    executionStatus: s.readOnly(s.enumeration(['IN_PROGRESS', 'COMPLETED'])),
    completionStatus: s.readOnly(s.enumeration(['SUCCEEDED', 'FAILED', 'PARTIALLY_SUCCEEDED', 'CANCELLED'])),
    startTime: s.readOnly(s.timestamp()),
    endTime: s.readOnly(s.timestamp()),
  },
  /** Most roles see their own batches only. */
  internal: { ownerExtId: s.uuid() },
  indexed: ['ownerExtId'],
  iam: { owner_uuid: 'ownerExtId', name: 'name' },
  newestFirst: true,
})

const submitters: readonly RoleName[] = names(`
  Internal Super Admin, Monitoring Admin, Platform Admin, Platform User, Super Admin
`)

const view = { roles: [...submitters, 'Platform Viewer'], rateLimit: perSecond(5) } as const

export const batchOperations = {
  submitBatch: action('/operations/$actions/batch', {
    of: Batch,
    body: BatchSpec,
    iam: 'Submit_Batch',
    roles: submitters,
    rateLimit: { per: 'minute', small: 6 },
    deployments: ['on-prem'],
    requestId: 'required',
    maximumBodyBytes: 16 * 1024 * 1024,
  }),
  listBatches: list('/operations/batches', Batch, {
    ...view,
    filter: ['name'],
    orderby: ['endTime', 'name', 'startTime'],
    select: 'any',
  }),
  getBatchById: get('/operations/batches/{extId}', Batch, view),
}
