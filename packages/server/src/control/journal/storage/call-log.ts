/**
 * Calls that nobody has asked about yet, as they came: files that are written at their end alone, and go as a whole. What is done
 * here is done for every call, and by far the most go before anybody asks, so they get no further than this.
 *
 * A file is named by the number of its first call. In it, a part is a header, then its packed calls.
 */
import {
  closeSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writevSync,
} from 'node:fs'
import { join } from 'node:path'
import { sizesIn } from '../packed-calls.ts'
import type { PackedPart } from '../protocol.ts'

/** Bytes after which the next file begins. */
const maximumFileBytes = 4 * 1024 * 1024
/** In front of each part, as 32 bits each: its bytes, its calls, what they count. */
const headerBytes = 12

export interface LoggedPart {
  /** Number of its newest call. */
  readonly last: number
  readonly count: number
  readonly sizeBytes: number
  readonly content: Buffer
}

interface LogFile {
  readonly path: string
  /** Number of its first call. */
  readonly first: number
  /** Number of its newest call; one less than the first where there is none. */
  last: number
  length: number
  /** What its calls count, oldest first; undefined: nobody has read that since it was opened. */
  sizes: number[] | undefined
}

export class CallLog {
  readonly #folder: string
  /** Oldest first; the last one is written to. */
  readonly #files: LogFile[]
  #descriptor: number | undefined

  /** What a power failure left unfinished behind the last part is cut off. */
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
    for (const { last, content } of partsOf(newest)) {
      newest.last = last
      newest.length += headerBytes + content.length
    }
    if (statSync(newest.path).size > newest.length) truncateSync(newest.path, newest.length)
  }

  /** Number of the newest call; undefined: there is none. */
  get last(): number | undefined {
    return this.#files.at(-1)?.last
  }

  /**
   * @param first number of their first call
   * @returns what takes them back
   * @throws what the disk says; the log is then as it was
   */
  append(parts: readonly PackedPart[], first: number): () => void {
    if (parts.length === 0) return () => undefined
    const bytes = parts.flatMap((part) => [headerOf(part), new Uint8Array(part.buffer, 0, part.length)])
    const length = bytes.reduce((sum, { byteLength }) => sum + byteLength, 0)
    const { file, descriptor } = this.#fileFor(first)
    const before = { ...file }
    const takeBack = (): void => {
      Object.assign(file, before)
      file.sizes?.splice(1 + before.last - before.first)
      ftruncateSync(descriptor, file.length)
    }
    try {
      const written = writevSync(descriptor, bytes)
      if (written < length) throw new Error(`the disk took ${written} of ${length} bytes`)
    } catch (error) {
      takeBack()
      throw error
    }
    file.length += length
    file.last = parts.reduce((last, { count }) => last + count, first - 1)
    // While they are at hand: to read them back takes longer than all the rest.
    for (const { buffer, length } of parts) file.sizes?.push(...sizesIn(Buffer.from(buffer, 0, length)))
    return takeBack
  }

  /** Parts with a call behind this number, oldest first, by the file in which they are. */
  *after(number: number): Generator<readonly LoggedPart[]> {
    for (const file of this.#files) if (file.last > number) yield [...partsOf(file)].filter(({ last }) => last > number)
  }

  /** What this call counts. */
  sizeOf(number: number): number {
    const file = this.#files.find(({ last }) => last >= number)
    if (file === undefined) throw missing(number)
    file.sizes ??= [...partsOf(file)].flatMap(({ content }) => sizesIn(content))
    const size = file.sizes[number - file.first]
    if (size === undefined) throw missing(number)
    return size
  }

  /** Calls up to this number are not needed any more: files that hold nothing else go. One that cannot is tried again. */
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

  /** The file that these calls belong to, which is a new one where the newest is full. */
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

/** As far as they are whole. */
function* partsOf({ path, first }: LogFile): Generator<LoggedPart> {
  const bytes = readFileSync(path)
  for (let header = 0, last = first - 1; header + headerBytes <= bytes.length; ) {
    const [length, count, sizeBytes] = [0, 4, 8].map((place) => bytes.readUInt32LE(header + place)) as [
      number,
      number,
      number,
    ]
    const begin = header + headerBytes
    header = begin + length
    if (count === 0 || header > bytes.length) return
    last += count
    yield { last, count, sizeBytes, content: bytes.subarray(begin, header) }
  }
}
