/** Objects of a real S3-compatible service, read in parts. Source: behaviour vmm.md 1.8, 1.11; decision s3-client. */
import { AddressRefusal } from '../../core/access/address-guard.ts'
import { Semaphore } from '../../core/concurrency/semaphore.ts'
import { DriverError } from '../../core/tasks/define-task.ts'
import type { ByteRange } from '../content-source.ts'
import { type ContentStore, objectChanged, type StoredContent } from '../content-store.ts'
import { type BucketPlace, ObjectStoreError } from '../object-store.ts'
import { createCall } from './call.ts'
import type { TransportOptions } from './transport.ts'

export type Service = Omit<BucketPlace, 'bucket' | 'kind'>

/** Bounds the memory of all transfers together: a part is held in memory. */
const partsAtOnce = 4

interface Part {
  readonly bytes: Uint8Array
  readonly version: string
  /** The size of the whole object. */
  readonly sizeBytes: number
}

export function createS3ContentStore(service: Service, options: TransportOptions): ContentStore {
  const call = createCall(options)
  const slots = new Semaphore(partsAtOnce)

  async function partOf(
    { bucket, key }: StoredContent,
    { first, last }: ByteRange,
    { version, stopping }: { readonly version?: string; readonly stopping?: AbortSignal | undefined },
  ): Promise<Part> {
    const condition = version === undefined ? {} : { 'if-match': version }
    const ask = (): Promise<Part> =>
      call(
        { kind: 'bucket', ...service, bucket },
        async (client, refusal) => {
          const answer = await client.getObjectRaw(key, false, first, last + 1, condition).catch((error: unknown) => {
            throw objectFault(error, refusal(), version) ?? error
          })
          return partIn(answer)
        },
        { stopping, survivesBreaks: true },
      )
    try {
      return await slots.use(ask, stopping)
    } catch (error) {
      throw error instanceof ObjectStoreError ? missingObject(causeOf(error), error) : error
    }
  }

  return {
    async look(object, stopping) {
      // Not a HEAD request: its refusal has no body, so a missing key and a missing bucket would look the same.
      const { sizeBytes, version } = await partOf(object, { first: 0, last: 0 }, { stopping })
      return { sizeBytes, version }
    },
    async read(object, version, part, stopping) {
      const { bytes, ...found } = await partOf(object, part, { version, stopping })
      // Not every service evaluates If-Match.
      if (found.version !== version) throw objectChanged()
      if (bytes.byteLength !== part.last - part.first + 1)
        throw missingObject('the object store sent an incomplete part')
      return bytes
    },
  }
}

const missingObject = (message: string, cause?: unknown): DriverError =>
  new DriverError(message, { retryable: false, cause })

async function partIn(answer: Response): Promise<Part> {
  const version = answer.headers.get('etag')
  const [, size] = /^bytes \d+-\d+\/(\d+)$/.exec(answer.headers.get('content-range') ?? '') ?? []
  if (answer.status !== 206 || size === undefined || version === null)
    throw missingObject('the object store does not answer with a part of the object and its entity tag')
  return { bytes: new Uint8Array(await answer.arrayBuffer()), version, sizeBytes: Number(size) }
}

/** Refusals that concern one object. */
function objectFault(error: unknown, refusal: string, version: string | undefined): DriverError | undefined {
  const { status } = error as { readonly status?: number }
  if (status === 412) return objectChanged()
  if (status === 416) return version === undefined ? missingObject('the object is empty') : objectChanged()
  if (status === 404 && refusal !== 'NoSuchBucket') return missingObject('there is no such object')
  return undefined
}

/** Without the host name of the store, which callers of the API need not know. */
function causeOf({ fault, message, cause }: ObjectStoreError): string {
  if (cause instanceof AddressRefusal)
    return 'the service may not call the address of its object store (--allow-address, --offline)'
  if (fault === 'accessDenied') return `the object store refuses access: ${message}`
  if (fault === 'noSuchBucket') return 'the object store has no such bucket'
  if (fault === 'tlsFailed') return 'the certificate of the object store cannot be verified'
  return `the object store cannot be reached: ${message}`
}
