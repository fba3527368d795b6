/**
 * Calls that no query has needed yet, in files that are deleted whole: most are dropped unread, so indexing them would be wasted. Files are
 * named by their first call's number.
 */
import {
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writevSync,
} from 'node:fs'
import { join } from 'node:path'
import { sizesIn } from '../packed-calls.ts'
import type { PackedPart } from '../protocol.ts'

const maximumFileBytes = 4 * 1024 * 1024
/** Three 32-bit numbers: bytes of the part, its calls, and their size as bounds count it. */
const headerBytes = 12

export interface LoggedPart {
  readonly last: number
  readonly count: number
  readonly sizeBytes: number
  /** Valid until the next part is read. */
  readonly content: Buffer
}

interface LogFile {
  readonly path: string
  readonly first: number
  /** Number of its newest call; `first - 1` for an empty file. */
  last: number
  length: number
  /** Oldest first; undefined until they are read after a restart. */
  sizes: number[] | undefined
}

export class CallLog {
  readonly #folder: string
  readonly #files: LogFile[]
  #descriptor: number | undefined

  /** Truncates an incomplete part that a crash left at the end. */
  constructor(folder: string) {
    this.#folder = folder
    const firsts = readdirSync(folder).flatMap((name) => /^(\d{16})\.calls$/.exec(name)?.[1] ?? [])
    this.#files = firsts
      .sort()
      .map(Number)
      .map((first, index, all) => ({
        path: this.#pathOf(first),
        first,
        last: (all[index + 1] ?? first) - 1,
        length: 0,
        sizes: undefined,
      }))
    const newest = this.#files.at(-1)
    if (newest === undefined) return
    for (const { last, content } of recordParts(newest)) {
      newest.last = last
      newest.length += headerBytes + content.length
    }
    if (statSync(newest.path).size > newest.length) truncateSync(newest.path, newest.length)
  }

  get last(): number | undefined {
    return this.#files.at(-1)?.last
  }

  /** @returns undoes the append @throws the error of the file system; the log is then unchanged */
  append(parts: readonly PackedPart[], first: number): () => void {
    if (parts.length === 0) return () => undefined
    const bytes = parts.flatMap((part) => [headerOf(part), new Uint8Array(part.buffer, 0, part.length)])
    const length = bytes.reduce((sum, { byteLength }) => sum + byteLength, 0)
    const { file, descriptor } = this.#fileFor(first)
    const before = { ...file }
    const undo = (): void => {
      Object.assign(file, before)
      file.sizes?.splice(1 + before.last - before.first)
      ftruncateSync(descriptor, file.length)
    }
    try {
      const written = writevSync(descriptor, bytes)
      if (written < length) throw new Error(`the disk took ${written} of ${length} bytes`)
    } catch (error) {
      undo()
      throw error
    }
    file.length += length
    file.last = parts.reduce((last, { count }) => last + count, first - 1)
    // Cached while they are in memory: reading them back would take longer than the append.
    for (const { buffer, length } of parts) file.sizes?.push(...sizesIn(Buffer.from(buffer, 0, length)))
    return undo
  }

  /** Parts with a call after this number, oldest first, grouped by file. */
  *after(number: number): Generator<Iterable<LoggedPart>> {
    for (const file of this.#files) if (file.last > number) yield partsAfter(file, number)
  }

  sizeOf(number: number): number {
    const file = this.#files.find(({ last }) => last >= number)
    if (file === undefined) throw missing(number)
    file.sizes ??= sizesOf(file)
    const size = file.sizes[number - file.first]
    if (size === undefined) throw missing(number)
    return size
  }

  /** A failed deletion is repeated with the next one. */
  removeFilesUpTo(number: number): void {
    for (let oldest = this.#files[0]; oldest !== undefined && oldest.last <= number; oldest = this.#files[0]) {
      if (this.#files.length === 1) this.close()
      try {
        rmSync(oldest.path, { force: true })
      } catch {
        return
      }
      this.#files.shift()
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }

  #fileFor(first: number): { readonly file: LogFile; readonly descriptor: number } {
    let file = this.#files.at(-1)
    if (file === undefined || file.length >= maximumFileBytes) {
      this.close()
      file = { path: this.#pathOf(first), first, last: first - 1, length: 0, sizes: [] }
      this.#descriptor = openSync(file.path, 'a', 0o600)
      this.#files.push(file)
    }
    this.#descriptor ??= openSync(file.path, 'a', 0o600)
    return { file, descriptor: this.#descriptor }
  }

  #pathOf(first: number): string {
    return join(this.#folder, `${String(first).padStart(16, '0')}.calls`)
  }
}

const missing = (number: number): SyntaxError => new SyntaxError(`call ${number} is missing from the log`)

function headerOf({ length, count, sizeBytes }: PackedPart): Buffer {
  const header = Buffer.alloc(headerBytes)
  for (const [index, value] of [length, count, sizeBytes].entries()) header.writeUInt32LE(value, 4 * index)
  return header
}

function sizesOf(file: LogFile): number[] {
  const sizes: number[] = []
  for (const { content } of recordParts(file)) sizes.push(...sizesIn(content))
  return sizes
}

function* partsAfter(file: LogFile, number: number): Generator<LoggedPart> {
  for (const part of recordParts(file)) if (part.last > number) yield part
}

/** Complete parts, up to the first incomplete one. One buffer holds each in turn: whole files would fill the memory. */
function* recordParts({ path, first }: LogFile): Generator<LoggedPart> {
  const descriptor = openSync(path, 'r')
  try {
    const { size } = fstatSync(descriptor)
    const header = Buffer.alloc(headerBytes)
    let buffer = Buffer.alloc(0)
    for (let place = 0, last = first - 1; readSync(descriptor, header, 0, headerBytes, place) === headerBytes; ) {
      const [length, count, sizeBytes] = [0, 4, 8].map((offset) => header.readUInt32LE(offset)) as [
        number,
        number,
        number,
      ]
      const begin = place + headerBytes
      place = begin + length
      if (count === 0 || place > size) return
      if (buffer.length < length) buffer = Buffer.alloc(length)
      if (readSync(descriptor, buffer, 0, length, begin) < length) return
      last += count
      yield { last, count, sizeBytes, content: buffer.subarray(0, length) }
    }
  } finally {
    closeSync(descriptor)
  }
}
