/** Checks each part against the manifest. Source: behaviour platform.md 8 (verification). */
import { zstdDecompressSync } from 'node:zlib'
import { aboutPart, decrypt } from './cipher.ts'
import { BackupFault, type Manifest, type Part, partName, plainPartBytes, type Section, sha256 } from './format.ts'
import { type BackupRow, kindIn, rowOf } from './rows.ts'

export class Unpacker {
  readonly #manifest: Manifest
  readonly #dataKey: Buffer
  #index = 0
  #section: Section | undefined
  #unfinishedRow: Buffer[] = []

  constructor(manifest: Manifest, dataKey: Buffer) {
    this.#manifest = manifest
    this.#dataKey = dataKey
  }

  /** @throws BackupFault that names the part, when it differs from the manifest or does not open */
  *next(content: Uint8Array): Generator<{ readonly section: Section; readonly row: BackupRow }> {
    const part = this.#manifest.parts[this.#index] as Part
    const counts = new Counts(part)
    for (const line of this.#lines(part, content)) {
      const row = asRow(part, () => rowOf(line.toString()))
      counts.add(row.kind)
      yield { section: part.section, row }
    }
    counts.compare()
  }

  /** Counts the rows without parsing them, which saves memory and time. @throws as `next` */
  count(content: Uint8Array): void {
    const part = this.#manifest.parts[this.#index] as Part
    const counts = new Counts(part)
    for (const line of this.#lines(part, content)) counts.add(asRow(part, () => kindIn(line)))
    counts.compare()
  }

  *#lines(part: Part, content: Uint8Array): Generator<Buffer> {
    const plain = this.#opened(part, content)
    if (part.section !== this.#section && this.#unfinishedRow.length > 0) throw damaged(part, 'it begins inside a row')
    this.#section = part.section
    let from = 0
    for (let end = plain.indexOf(10); end >= 0; end = plain.indexOf(10, from)) {
      const rest = plain.subarray(from, end)
      yield this.#unfinishedRow.length === 0 ? rest : Buffer.concat([...this.#unfinishedRow, rest])
      this.#unfinishedRow = []
      from = end + 1
    }
    // A copy, so that the rest of the part can be collected.
    if (from < plain.byteLength) this.#unfinishedRow.push(Buffer.from(plain.subarray(from)))
    this.#index++
  }

  /** Call after the last part. @throws BackupFault when parts or the end of a row are missing */
  end(): void {
    const { parts } = this.#manifest
    if (this.#index < parts.length) throw damaged(parts[this.#index] as Part, 'it is missing')
    if (this.#unfinishedRow.length > 0) throw damaged(parts.at(-1) as Part, 'it ends inside a row')
  }

  #opened(part: Part, content: Uint8Array): Buffer {
    if (part.name !== partName(this.#index)) throw damaged(part, `${partName(this.#index)} was expected`)
    if (content.byteLength !== part.sizeBytes)
      throw damaged(part, `it has ${content.byteLength} bytes instead of ${part.sizeBytes}`)
    if (sha256(content) !== part.sha256) throw damaged(part, 'its SHA-256 is another')
    try {
      const packed = decrypt(this.#dataKey, content, aboutPart(this.#manifest.restorePointExtId, this.#index))
      return zstdDecompressSync(packed, { maxOutputLength: plainPartBytes, chunkSize: plainPartBytes })
    } catch (cause) {
      throw damaged(part, 'it does not open', cause)
    }
  }
}

class Counts {
  readonly #part: Part
  readonly #counts: Record<string, number> = {}

  constructor(part: Part) {
    this.#part = part
  }

  add(kind: string): void {
    this.#counts[kind] = (this.#counts[kind] ?? 0) + 1
  }

  compare(): void {
    if (!equal(this.#counts, this.#part.rows))
      throw damaged(this.#part, 'it does not hold the rows that the manifest counts')
  }
}

function asRow<T>(part: Part, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw damaged(part, 'it holds a line that is no row', cause)
  }
}

export const damaged = (part: Part, fault: string, cause?: unknown): BackupFault =>
  new BackupFault('corrupt', `its part ${part.name} is damaged: ${fault}`, cause)

const equal = (a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.entries(a).every(([name, count]) => b[name] === count)
