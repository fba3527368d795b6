/** Sparse files, read back by the rules of their formats. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inflateSync } from 'node:zlib'
import { tailOf } from './bytes.ts'
import { qcow2 } from './qcow2.ts'
import { vmdk } from './vmdk.ts'

const [KiB, GiB] = [1024, 1024 ** 3]
const grain = 64 * KiB
/** The tail is in one grain, in two, in grains of two VMDK tables and of two QCOW2 tables, or is the whole disk. */
const sizes = [
  GiB,
  GiB + 512,
  33 * 1024 ** 2 - 31 * 1024 ** 2 + 512,
  32 * 1024 ** 2 + 512,
  512 * 1024 ** 2 + 512,
  1536,
  700,
]

const fileOf = (parts: Iterable<Uint8Array>): Buffer => Buffer.concat([...parts])

/** What a disk of this size reads from `from` on. */
function expected(content: { seed: string; sizeBytes: number }, from: number): Buffer {
  const bytes = Buffer.alloc(grain)
  const tail = tailOf(content)
  const start = content.sizeBytes - tail.length
  for (let at = 0; at < grain; at++) if (from + at >= start) bytes[at] = tail[from + at - start] ?? 0
  return bytes
}

for (const sizeBytes of sizes) {
  const content = { seed: 'a', sizeBytes }
  const [last, before] = [Math.floor((sizeBytes - 1) / grain), Math.floor((sizeBytes - 1) / grain) - 1]
  const indexes = [last, before].filter((index) => index >= 0)

  test(`a QCOW2 disk of ${sizeBytes} bytes reads as its content`, () => {
    const file = fileOf(qcow2(content))
    assert.equal(file.toString('latin1', 0, 4), 'QFI\xfb')
    const size = Number(file.readBigUInt64BE(24))
    assert.equal(size, Math.ceil(sizeBytes / 512) * 512)
    const [entries, l1] = [file.readUInt32BE(36), Number(file.readBigUInt64BE(40))]
    assert.ok(entries * 8192 * grain >= size)
    const offsetAt = (at: number): number => Number(file.readBigUInt64BE(at) & ~(2n ** 63n))
    const counts = offsetAt(Number(file.readBigUInt64BE(48)))
    for (let cluster = 0; cluster < grain / 2; cluster++)
      assert.equal(file.readUInt16BE(counts + 2 * cluster), cluster < file.length / grain ? 1 : 0)
    for (const index of indexes) {
      const table = offsetAt(l1 + 8 * Math.floor(index / 8192))
      const data = table === 0 ? 0 : offsetAt(table + 8 * (index % 8192))
      const read = data === 0 ? Buffer.alloc(grain) : file.subarray(data, data + grain)
      assert.ok(read.equals(expected(content, index * grain)), `cluster ${index}`)
    }
  })

  test(`a VMDK disk of ${sizeBytes} bytes reads as its content`, () => {
    const file = fileOf(vmdk('disk.vmdk', content))
    assert.equal(file.length % 512, 0)
    assert.equal(file.toString('latin1', 0, 4), 'KDMV')
    // Footer, then the end-of-stream marker.
    const footer = file.subarray(-1024, -512)
    assert.equal(footer.toString('latin1', 0, 4), 'KDMV')
    assert.equal(file.readUInt32LE(file.length - 1536 + 12), 3)
    assert.equal(Number(footer.readBigUInt64LE(12)), Math.ceil(sizeBytes / grain) * 128)
    assert.match(file.toString('latin1', 512, 1024), /createType="streamOptimized"/)
    const directory = Number(footer.readBigUInt64LE(56)) * 512
    assert.equal(file.readUInt32LE(directory - 512 + 12), 2)
    for (const index of indexes) {
      const table = file.readUInt32LE(directory + 4 * Math.floor(index / 512)) * 512
      const at = table === 0 ? 0 : file.readUInt32LE(table + 4 * (index % 512)) * 512
      if (at > 0) assert.equal(Number(file.readBigUInt64LE(at)), index * 128)
      const read =
        at === 0 ? Buffer.alloc(grain) : inflateSync(file.subarray(at + 12, at + 12 + file.readUInt32LE(at + 8)))
      assert.ok(read.equals(expected(content, index * grain)), `grain ${index}`)
    }
  })
}

test('a disk of 64 TiB takes a few MiB', () => {
  const content = { seed: 'a', sizeBytes: 64 * 1024 * GiB }
  for (const parts of [vmdk('disk.vmdk', content), qcow2(content)]) {
    let bytes = 0
    for (const part of parts) bytes += part.length
    assert.ok(bytes < 10 * 1024 ** 2, String(bytes))
  }
})
