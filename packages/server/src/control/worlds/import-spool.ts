import { createHash } from 'node:crypto'
import { createWriteStream, mkdirSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { ApiError } from '../../core/api-error.ts'
import { malformed } from '../../core/input/multipart.ts'
import type { Spool } from '../../core/input/spooled-form.ts'

export function createSpool(folder: string, prefix: string, maximumBytes: number): Spool {
  return {
    maximumBytes,
    open() {
      const files: Record<string, string> = {}
      const stopping = new AbortController()
      let own: string | undefined
      /** Awaited before the files are removed. */
      const writing: Promise<unknown>[] = []
      return {
        files,
        async take(name, content, isText) {
          mkdirSync(folder, { recursive: true, mode: 0o700 })
          own ??= mkdtempSync(join(folder, prefix))
          const file = join(own, String(writing.length))
          const digest = createHash('sha256')
          async function* digested(chunks: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
            for await (const chunk of isText ? withUnixLineEnds(chunks) : decompressed(name, chunks, maximumBytes)) {
              digest.update(chunk)
              yield chunk
            }
          }
          const target = createWriteStream(file, { flags: 'wx', mode: 0o600 })
          const written = pipeline(content as Readable, digested, target, { signal: stopping.signal })
          writing.push(written.catch(() => undefined))
          await written
          files[name] = file
          return `sha256:${digest.digest('hex')}`
        },
        async remove() {
          stopping.abort()
          await Promise.all(writing)
          if (own !== undefined) await rm(own, { recursive: true, force: true })
        },
      }
    },
  }
}

async function* decompressed(
  name: string,
  chunks: AsyncIterable<Buffer>,
  maximumBytes: number,
): AsyncGenerator<Buffer> {
  const rest = chunks[Symbol.asyncIterator]()
  let head = Buffer.alloc(0)
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
    head = Buffer.concat([head, next.value])
    if (head.length >= gzipMagic.length) break
  }
  async function* content(): AsyncGenerator<Buffer> {
    yield head
    yield* { [Symbol.asyncIterator]: () => rest }
  }
  if (!head.subarray(0, gzipMagic.length).equals(gzipMagic)) {
    yield* content()
    return
  }
  const gunzip = createGunzip()
  // The loop below receives errors of the pipeline from `gunzip`.
  pipeline(content, gunzip).catch(() => undefined)
  let bytes = 0
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > maximumBytes) throw new ApiError('BODY_TOO_LARGE', { maximum: maximumBytes })
      yield chunk
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code?.startsWith('Z_') !== true) throw error
    throw malformed(
      `the file of the part "${name}" begins as one that is compressed (gzip), and is damaged or cut off.`,
    )
  }
}

const gzipMagic = Buffer.of(0x1f, 0x8b)

const [carriageReturn, lineFeed] = [0x0d, 0x0a]

/** Also when a chunk ends between the two characters. */
async function* withUnixLineEnds(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held = false
  for await (const chunk of chunks) {
    const bytes: Buffer = held ? Buffer.concat([Buffer.of(carriageReturn), chunk]) : chunk
    held = bytes.at(-1) === carriageReturn
    const rest: Buffer = held ? bytes.subarray(0, -1) : bytes
    yield Buffer.from(rest.filter((byte, index) => byte !== carriageReturn || rest[index + 1] !== lineFeed))
  }
  if (held) yield Buffer.of(carriageReturn)
}
