/** One call to a bucket through s3mini: retries, and faults in the words of `ObjectStoreError`. */
import { AddressRefusal } from '../../core/access/address-guard.ts'
import { DriverError } from '../../core/tasks/define-task.ts'
import { type BucketPlace, ObjectStoreError, type ObjectStoreFault, type Place } from '../object-store.ts'
import { isTlsFault } from '../tls-fault.ts'
import { isList } from './list-answer.ts'
import { createTransport, SilentPlace, type TransportOptions } from './transport.ts'

type Client = InstanceType<typeof import('s3mini').S3mini>

/** Larger objects use multipart uploads, whose smallest part has this size. */
export const onePutBytes = 5 * 1024 * 1024
/** Per list, a thousand objects each: a service could send an endless list. */
const maximumPages = 1000
/** Delays before retries of temporary errors. */
const retryMilliseconds = [500, 1000, 2000]

export interface CallOptions {
  readonly stopping?: AbortSignal | undefined
  /** Also retries broken connections, for calls that together make one long transfer. */
  readonly survivesBreaks?: boolean
}

/** @param work gets the client, and a function that returns the error code of the service's last refusal */
export type Call = <T>(
  place: Place,
  work: (client: Client, refusal: () => string) => Promise<T>,
  options?: CallOptions,
) => Promise<T>

export function createCall(options: TransportOptions): Call {
  return async (place, work, { stopping, survivesBreaks = false } = {}) => {
    const bucket = bucketOf(place)
    // Loaded on first use: few installations have a bucket.
    const { S3mini } = await import('s3mini')
    const transport = createTransport(bucket, { ...options, stopping })
    /** Error code of the last refusal: s3mini returns nothing for several of them. */
    let word = ''
    let pages = 0
    const send: typeof fetch = async (input, init) => {
      const answer = await transport(input, init)
      word = ''
      if (!answer.ok) {
        word = (await answer.text()).match(/<Code>(\w+)</)?.[1] ?? ''
        return new Response(null, { status: answer.status, headers: answer.headers })
      }
      if (!new URL(String(input)).searchParams.has('list-type')) return answer
      const page = await answer.text()
      if (++pages > maximumPages || !isList(page))
        throw new ObjectStoreError('unreachable', 'the service answers no list of objects')
      return new Response(page, { status: answer.status, headers: answer.headers })
    }
    const client = new S3mini({
      accessKeyId: bucket.accessKeyId,
      secretAccessKey: bucket.secretAccessKey,
      endpoint: endpointOf(bucket),
      region: bucket.region,
      minPartSize: onePutBytes,
      fetch: send,
    })
    for (let attempt = 0; ; attempt++) {
      try {
        return await work(client, () => word)
      } catch (error) {
        stopping?.throwIfAborted()
        const wait = retryMilliseconds[attempt]
        const isTemporary = isOverload(error) || (survivesBreaks && isBreak(error))
        if (wait === undefined || !isTemporary) throw inWords(error, word)
        await new Promise<void>((resolve) => options.real.setTimer(wait, resolve))
      }
    }
  }
}

function bucketOf(place: Place): BucketPlace & { accessKeyId: string; secretAccessKey: string } {
  if (place.kind !== 'bucket') throw new ObjectStoreError('unreachable', 'no cluster answers here')
  const { accessKeyId, secretAccessKey } = place
  // Without both keys s3mini would send unsigned requests.
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw new ObjectStoreError('accessDenied', 'there are no credentials')
  return { ...place, accessKeyId, secretAccessKey }
}

function endpointOf({ endpoint, port, bucket, style, isPlain }: BucketPlace): string {
  const host = endpoint.includes(':') ? `[${endpoint}]` : endpoint
  const scheme = isPlain === true ? 'http' : 'https'
  return style === 'host' ? `${scheme}://${bucket}.${host}:${port}` : `${scheme}://${host}:${port}/${bucket}`
}

const statusOf = (error: unknown): number => (error as { status?: number }).status ?? 0

const isOverload = (error: unknown): boolean => [429, 500, 502, 503, 504].includes(statusOf(error))

const isBreak = (error: unknown): boolean =>
  error instanceof SilentPlace || /^(?:ECONN|EPIPE|ETIMEDOUT)/.test((error as NodeJS.ErrnoException).code ?? '')

/** By code: services use different statuses for an unknown key. */
const deniedCodes = /AccessDenied|AccessKey|Signature|Forbidden|UserNotFound/i
const fullCodes = /Quota|StorageFull|InsufficientStorage|NotEnoughSpace|DiskFull/i

function inWords(error: unknown, word: string): DriverError {
  const say = (fault: ObjectStoreFault, message: string): ObjectStoreError =>
    new ObjectStoreError(fault, message, error)
  if (deniedCodes.test(word)) return say('accessDenied', `the service answered ${word}`)
  if (error instanceof DriverError) return error
  if (error instanceof AddressRefusal) return say('unreachable', error.message)
  if (error instanceof SilentPlace) return say('unreachable', error.message)
  const status = statusOf(error)
  if (status !== 0) {
    if (status === 507 || fullCodes.test(word)) return say('full', `the service answered ${status} ${word}`)
    if (status === 404) return say('noSuchBucket', 'there is no such bucket')
    if (status === 401 || status === 403) return say('accessDenied', `the service answered ${status} ${word}`)
    return say('unreachable', `the service answered ${status} ${word}`.trim())
  }
  const { code = '', message } = error as NodeJS.ErrnoException
  if (isTlsFault(code)) return say('tlsFailed', message)
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return say('unreachable', 'its name cannot be resolved')
  return say(
    'unreachable',
    code === 'ECONNREFUSED' ? 'it refuses the connection' : `the connection broke off (${code || message})`,
  )
}
