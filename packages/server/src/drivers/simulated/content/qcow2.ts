/** A simulated disk as QCOW2, version 3. Source: QEMU, docs/interop/qcow2.txt. */
import type { Content } from './bytes.ts'
import { blocksOf, grainBytes as clusterBytes, grainsOf, groupedBy, tableOf } from './sparse.ts'

const clusterBits = 16
const entriesOfTable = clusterBytes / 8
const sectorBytes = 512
/** The only reference to the cluster. */
const copied = 2n ** 63n

/** Order: header, table of reference counts, the counts, L1 table, L2 tables, data. */
export function* qcow2(content: Content): Generator<Uint8Array> {
  const sizeBytes = blocksOf(content.sizeBytes, sectorBytes) * sectorBytes
  const grains = grainsOf(content)
  const tables = groupedBy(grains, entriesOfTable)
  const l1Entries = blocksOf(blocksOf(sizeBytes, clusterBytes), entriesOfTable)
  const l1Clusters = blocksOf(8 * l1Entries, clusterBytes)
  const firstTable = 3 + l1Clusters
  const firstData = firstTable + tables.size
  const offset = (cluster: number, flag = 0n): Buffer => bigEndian(BigInt(cluster * clusterBytes) | flag)

  yield header(sizeBytes, l1Entries)
  yield* tableOf(clusterBytes, [[0, offset(2)]])
  const counts = Buffer.alloc(clusterBytes)
  for (let cluster = 0; cluster < firstData + grains.length; cluster++) counts.writeUInt16BE(1, 2 * cluster)
  yield counts
  const numbers = [...tables.keys()]
  yield* tableOf(
    l1Clusters * clusterBytes,
    numbers.map((number, position) => [number, offset(firstTable + position, copied)] as const),
  )
  let data = firstData
  for (const members of tables.values())
    yield* tableOf(
      clusterBytes,
      members.map(({ index }) => [index % entriesOfTable, offset(data++, copied)] as const),
    )
  for (const { bytes } of grains) yield bytes
}

function header(sizeBytes: number, l1Entries: number): Buffer {
  const bytes = Buffer.alloc(clusterBytes)
  bytes.write('QFI\xfb', 'latin1')
  bytes.writeUInt32BE(3, 4)
  bytes.writeUInt32BE(clusterBits, 20)
  bytes.writeBigUInt64BE(BigInt(sizeBytes), 24)
  bytes.writeUInt32BE(l1Entries, 36)
  bytes.writeBigUInt64BE(BigInt(3 * clusterBytes), 40)
  bytes.writeBigUInt64BE(BigInt(clusterBytes), 48)
  bytes.writeUInt32BE(1, 56)
  // Reference counts of 16 bits.
  bytes.writeUInt32BE(4, 96)
  bytes.writeUInt32BE(104, 100)
  return bytes
}

function bigEndian(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(value)
  return bytes
}
