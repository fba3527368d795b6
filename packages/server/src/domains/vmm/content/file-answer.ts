/** Downloads of files with `Range`, `Digest` and constant memory. Source: behaviour vmm.md 1.8 (file download); RFC 9110 14. */
import { ApiError } from '../../../core/api-error.ts'
import type { RawAnswer } from '../../../core/reply.ts'
import type { ByteRange } from '../../../drivers/content-source.ts'

interface Download {
  readonly name: string
  readonly sizeBytes: number
  readonly sha256?: string | undefined
  readonly range: string | undefined
  readonly read: (part: ByteRange) => AsyncIterable<Uint8Array>
}

/** @throws ApiError 416 for a range that begins after the end of the file */
export function fileAnswer({ name, sizeBytes, sha256, range, read }: Download): RawAnswer {
  const part = range === undefined ? undefined : rangeOf(range, sizeBytes)
  const { first, last } = part ?? { first: 0, last: sizeBytes - 1 }
  return {
    contentType: 'application/octet-stream',
    fileName: safeName(name) || 'file',
    contentLength: last - first + 1,
    content: read({ first, last }),
    ...(part === undefined ? {} : { status: 206 as const }),
    headers: {
      'Accept-Ranges': 'bytes',
      ...(part === undefined ? {} : { 'Content-Range': `bytes ${first}-${last}/${sizeBytes}` }),
      ...(sha256 === undefined ? {} : { Digest: `sha-256=${Buffer.from(sha256, 'hex').toString('base64')}` }),
    },
  }
}

export const safeName = (name: string): string => name.replaceAll(/[^A-Za-z0-9._-]/g, '')

/** Undefined for several ranges and other units, which a server may ignore. */
function rangeOf(header: string, sizeBytes: number): ByteRange | undefined {
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(header.trim()) ?? []
  if (from === '' && to === '') return undefined
  const first = from === '' ? Math.max(0, sizeBytes - Number(to)) : Number(from)
  const last = from === '' || to === '' ? sizeBytes - 1 : Math.min(Number(to), sizeBytes - 1)
  if (from !== '' && to !== '' && Number(to) < first) return undefined
  if (first <= last) return { first, last }
  const error = new ApiError('RANGE_NOT_SATISFIABLE', { size: sizeBytes, found: header.slice(0, 100) })
  error.headers['Content-Range'] = `bytes */${sizeBytes}`
  throw error
}
