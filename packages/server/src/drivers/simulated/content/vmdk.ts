/** A simulated disk as a stream-optimized VMDK. Source: VMware Virtual Disk Format 5.0. */
import { createHash } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import type { Content } from './bytes.ts'
import { blocksOf, type Grain, grainBytes, grainsOf, groupedBy, tableOf } from './sparse.ts'

const sectorBytes = 512
const grainSectors = grainBytes / sectorBytes
const grainsOfTable = 512
const tableBytes = 4 * grainsOfTable
const firstGrainSector = 128
const atEnd = 2n ** 64n - 1n

const marker = { endOfStream: 0, table: 1, directory: 2, footer: 3 } as const

export function* vmdk(name: string, content: Content): Generator<Uint8Array> {
  const grainCount = blocksOf(content.sizeBytes, grainBytes)
  const capacity = grainCount * grainSectors
  yield header(capacity, atEnd)
  const description = Buffer.alloc((firstGrainSector - 1) * sectorBytes)
  description.write(descriptionOf(name, capacity))
  yield description
  let sector = firstGrainSector
  const directory: [number, Uint8Array][] = []
  for (const [number, grains] of groupedBy(grainsOf(content), grainsOfTable)) {
    const entries: [number, Uint8Array][] = []
    for (const grain of grains) {
      const bytes = compressed(grain)
      entries.push([grain.index % grainsOfTable, word(sector)])
      yield bytes
      sector += bytes.length / sectorBytes
    }
    yield markerOf(marker.table, tableBytes / sectorBytes)
    yield* tableOf(tableBytes, entries)
    directory.push([number, word(sector + 1)])
    sector += 1 + tableBytes / sectorBytes
  }
  const directorySectors = blocksOf(4 * blocksOf(grainCount, grainsOfTable), sectorBytes)
  yield markerOf(marker.directory, directorySectors)
  yield* tableOf(directorySectors * sectorBytes, directory)
  yield markerOf(marker.footer, 1)
  yield header(capacity, BigInt(sector + 1))
  yield markerOf(marker.endOfStream, 0)
}

function header(capacity: number, directorySector: bigint): Buffer {
  const bytes = Buffer.alloc(sectorBytes)
  bytes.write('KDMV')
  bytes.writeUInt32LE(3, 4)
  // Line ends can be tested; grains are compressed; there are markers.
  bytes.writeUInt32LE(0x3_00_01, 8)
  for (const [index, value] of [capacity, grainSectors, 1, firstGrainSector - 1].entries())
    bytes.writeBigUInt64LE(BigInt(value), 12 + 8 * index)
  bytes.writeUInt32LE(grainsOfTable, 44)
  bytes.writeBigUInt64LE(directorySector, 56)
  bytes.writeBigUInt64LE(BigInt(firstGrainSector), 64)
  bytes.write('\n \r\n', 73)
  bytes.writeUInt16LE(1, 77)
  return bytes
}

function markerOf(type: number, sectors: number): Buffer {
  const bytes = Buffer.alloc(sectorBytes)
  bytes.writeBigUInt64LE(BigInt(sectors))
  bytes.writeUInt32LE(type, 12)
  return bytes
}

/** Level 0: the bytes do not depend on the version of zlib. */
function compressed({ index, bytes }: Grain): Buffer {
  const data = deflateSync(bytes, { level: 0 })
  const grain = Buffer.alloc(blocksOf(12 + data.length, sectorBytes) * sectorBytes)
  grain.writeBigUInt64LE(BigInt(index * grainSectors))
  grain.writeUInt32LE(data.length, 8)
  grain.set(data, 12)
  return grain
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function descriptionOf(name: string, capacity: number): string {
  const cid = createHash('sha256').update(name).digest('hex').slice(0, 8)
  const [heads, sectors] = [255, 63]
  return `# Disk DescriptorFile
version=1
CID=${cid}
parentCID=ffffffff
createType="streamOptimized"

# Extent description
RW ${capacity} SPARSE "${name}"

# The Disk Data Base
#DDB

ddb.virtualHWVersion = "4"
ddb.geometry.cylinders = "${Math.max(1, Math.min(65_535, Math.floor(capacity / heads / sectors)))}"
ddb.geometry.heads = "${heads}"
ddb.geometry.sectors = "${sectors}"
ddb.adapterType = "lsilogic"
`
}
