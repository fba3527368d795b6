/** Writes form parts that may exceed memory to files. Source: decision worlds-and-their-control. */
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Operation } from '@hyperplane/contract'
import { ApiError } from '../api-error.ts'
import { fieldsOf, malformed, maximumParts, type Part, partFault } from './multipart.ts'

export interface Spool {
  readonly maximumBytes: number
  open(): SpooledParts
}

export interface SpooledParts {
  readonly files: Readonly<Record<string, string>>
  /** @returns its digest. Line breaks of a text are CR LF, as browsers send them */
  take(name: string, content: Readable, isText: boolean): Promise<string>
  remove(): Promise<void>
}

/** For all other parts of one form, in memory. */
const maximumTexts = 1024 * 1024

/** @throws ApiError 400 when it is no form, 413, and what `source` throws */
export async function readSpooledForm(
  operation: Operation,
  source: AsyncIterable<Uint8Array>,
  contentType: string,
  spooled: SpooledParts,
): Promise<unknown> {
  const { Busboy } = await import('@fastify/busboy')
  const parts: Part[] = []
  const digests = new Map<string, string>()
  const reading: Promise<void>[] = []
  let textBytes = 0
  const form = (() => {
    try {
      return new Busboy({
        headers: { 'content-type': contentType },
        preservePath: true,
        isPartAFile: () => true,
        limits: { parts: maximumParts, headerPairs: 20 },
      })
    } catch {
      throw malformed('its Content-Type names no boundary for the parts of the form.')
    }
  })()
  const readPart = async (name: string, stream: Readable, fileName: string | undefined): Promise<void> => {
    const fault = partFault(name, fileName)
    if (fault !== undefined) throw malformed(fault)
    if (operation.form?.spooled?.includes(name) === true) {
      if (digests.has(name)) throw malformed(`the part "${name}" occurs twice, or as text and as a file.`)
      digests.set(name, '')
      digests.set(name, await spooled.take(name, stream, fileName === undefined))
      return
    }
    const chunks: Buffer[] = []
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      textBytes += chunk.length
      if (textBytes > maximumTexts) throw new ApiError('BODY_TOO_LARGE', { maximum: maximumTexts })
      chunks.push(chunk)
    }
    parts.push({ name, fileName, content: Buffer.concat(chunks) })
  }
  form.on('partsLimit', () => form.destroy(malformed(`the form has more than ${maximumParts} parts.`)))
  form.on('file', (name, stream, fileName) => {
    const read = readPart(name, stream, fileName)
    reading.push(read)
    read.catch((error: Error) => form.destroy(error))
  })
  try {
    await pipeline(source, form)
    await Promise.all(reading)
  } catch (error) {
    // A failing disk is not a fault of the request.
    const isOfDisk = (error as NodeJS.ErrnoException).syscall !== undefined
    if (error instanceof ApiError || isOfDisk) throw error
    throw malformed('the form is cut off, or its parts are not separated as its Content-Type says.')
  }
  return { ...fieldsOf(operation, parts), ...Object.fromEntries(digests) }
}
