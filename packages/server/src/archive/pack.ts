/** Source: behaviour platform.md 8. */
import { constants, zstdCompressSync } from 'node:zlib'
import { aboutPart, encrypt } from './cipher.ts'
import { maximumPartBytes, type Part, partName, plainPartBytes, type Section, sha256 } from './format.ts'
import type { LinePieces } from './rows.ts'

export interface PackedPart extends Part {
  readonly content: Uint8Array
}

export interface Line {
  readonly section: Section
  readonly kind: string
  readonly pieces: LinePieces
}

const compression = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

export function* packParts(lines: Iterable<Line>, dataKey: Buffer, restorePointExtId: string): Generator<PackedPart> {
  const plain = Buffer.allocUnsafe(plainPartBytes)
  let filled = 0
  let index = 0
  let section: Section | undefined
  let rows: Record<string, number> = {}

  const pack = (): PackedPart => {
    const content = encrypt(
      dataKey,
      zstdCompressSync(plain.subarray(0, filled), compression),
      aboutPart(restorePointExtId, index),
    )
    if (content.byteLength > maximumPartBytes)
      throw new Error(`part ${index + 1} has ${content.byteLength} bytes, more than ${maximumPartBytes}`)
    const part: PackedPart = {
      name: partName(index),
      section: section as Section,
      sizeBytes: content.byteLength,
      sha256: sha256(content),
      rows,
      content,
    }
    filled = 0
    rows = {}
    index++
    return part
  }

  for (const line of lines) {
    if (section !== line.section && filled > 0) yield pack()
    section = line.section
    for (const piece of line.pieces) {
      const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
      for (let from = 0; from < bytes.byteLength; ) {
        if (filled === plainPartBytes) yield pack()
        const taken = Math.min(bytes.byteLength - from, plainPartBytes - filled)
        plain.set(bytes.subarray(from, from + taken), filled)
        from += taken
        filled += taken
      }
    }
    rows[line.kind] = (rows[line.kind] ?? 0) + 1
  }
  if (filled > 0) yield pack()
}
