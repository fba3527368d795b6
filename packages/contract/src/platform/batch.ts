/**
 * Up to 500 requests of one operation, submitted together and followed through one task.
 * Source: specification 2.3, 4.4, 5, 8; catalogue platform.json; behaviour platform.md 3, 11, conventions.md 20.
 */
import { action, get, list, perSecond, resource } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import {
  anything,
  arrayOf,
  boolean,
  enumeration,
  integer,
  object,
  optional,
  readOnly,
  text,
  timestamp,
  uuid,
  withDefault,
} from '../schema.ts'

const BatchSpecMetadata = object('platform.v4.operations.BatchSpecMetadata', {
  action: enumeration(['CREATE', 'MODIFY', 'ACTION', 'DELETE']),
  name: text({ minLength: 1, maxLength: 256 }),
  /** Path of the operation that each element invokes, `/api/<namespace>/<version>/…`, path variables in braces. */
  uri: text({ named: 'href', pattern: '^/api/[a-z-]{2,16}/v[0-9]+\\.[0-9]+(?:\\.[a-z][0-9]+)?/.*$' }),
  shouldStopOnError: withDefault(boolean(), false),
  /** Elements that run at the same time. */
  chunkSize: withDefault(integer({ minimum: 1, maximum: 500 }), 1),
})

const BatchSpecPayload = object('platform.v4.operations.BatchSpecPayload', {
  metadata: optional(
    object('platform.v4.operations.BatchSpecPayloadMetadata', {
      headers: optional(
        arrayOf(
          object('platform.v4.operations.BatchSpecPayloadMetadataHeader', {
            name: text({ maxLength: 256 }),
            value: text(),
          }),
          { maxItems: 500 },
        ),
      ),
      path: optional(
        arrayOf(
          object('platform.v4.operations.BatchSpecPayloadMetadataPath', {
            name: text({ maxLength: 256 }),
            value: text(),
          }),
          { maxItems: 500 },
        ),
      ),
    }),
  ),
  /** Body of the element, judged by the operation that it invokes. */
  data: optional(anything()),
})

export const BatchSpec = object('platform.v4.operations.BatchSpec', {
  metadata: BatchSpecMetadata,
  payload: arrayOf(BatchSpecPayload, { minItems: 1, maxItems: 500 }),
})

/** History of a submitted batch, kept 90 days. Its id is the id of its task. */
export const Batch = resource(
  'platform.v4.operations.Batch',
  {
    name: readOnly(text({ maxLength: 256 })),
    size: readOnly(integer({ minimum: 0 })),
    successCount: readOnly(integer({ minimum: 0 })),
    failedCount: readOnly(integer({ minimum: 0 })),
    shouldStopOnError: readOnly(boolean()),
    executionStatus: readOnly(enumeration(['IN_PROGRESS', 'COMPLETED'])),
    completionStatus: readOnly(enumeration(['SUCCEEDED', 'FAILED', 'PARTIALLY_SUCCEEDED', 'CANCELLED'])),
    startTime: readOnly(timestamp()),
    endTime: readOnly(timestamp()),
  },
  {
    /** The submitter. Most roles see their own batches only. */
    internal: { ownerExtId: uuid() },
    indexed: ['ownerExtId'],
    iam: { name: 'batch', attributes: { owner_uuid: 'ownerExtId', name: 'name' } },
    newestFirst: true,
  },
)

const submitters: readonly RoleName[] = [
  'Internal Super Admin',
  'Monitoring Admin',
  'Platform Admin',
  'Platform User',
  'Super Admin',
]

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
    iam: 'View_Batch',
    roles: [...submitters, 'Platform Viewer'],
    rateLimit: perSecond(5),
    filter: ['name'],
    orderby: ['endTime', 'name', 'startTime'],
    select: 'any',
  }),
  getBatchById: get('/operations/batches/{extId}', Batch, {
    iam: 'View_Batch',
    roles: [...submitters, 'Platform Viewer'],
    rateLimit: perSecond(5),
  }),
}
