/** Simulated files of OVAs. Facts: `content.ovas` by `<OVA>/<cluster>`. Source: behaviour vmm.md 1.11, 3.6. */
import { createHash } from 'node:crypto'
import type { ByteRange, Digests } from '../content-source.ts'
import type { DiskFormat, DiskToFreeze, FrozenDisk, OvaFile, OvaFiles, TextFile } from '../ova-files.ts'
import { bytesOf, type Content, partOf } from './content/bytes.ts'
import { foreignOva } from './content/foreign-ova.ts'
import { createObjectFiles } from './content/object-files.ts'
import { qcow2 } from './content/qcow2.ts'
import { tarOf } from './content/tar.ts'
import { createUrls, moving, unavailable } from './content/urls.ts'
import { vmdk } from './content/vmdk.ts'
import type { ContentSettings } from './content-source.ts'
import { type DiskFact, diskFacts } from './hypervisor/facts.ts'
import { contentBytes } from './hypervisor/layers.ts'
import type { Collection, SimulatedWorld } from './world.ts'

interface OvaFact {
  readonly at: number
  readonly url?: string
  /** Read from the object with this key; the bytes are in a file. */
  readonly objectKey?: string
  readonly texts?: readonly TextFile[]
  readonly disks: readonly OvaDisk[]
  /** Content that is no archive. */
  readonly noise?: Content
  readonly sizeBytes?: number
  readonly own?: Digests
}

export interface OvaDisk extends FrozenDisk {
  readonly format: DiskFormat
  readonly content: Content
  readonly os?: DiskFact['os']
  /** Content at the freeze. */
  readonly heldBytes?: number
}

const noiseBytes = 256 * 1024

export const ovaKey = ({ ovaExtId, clusterExtId }: OvaFile): string => `${ovaExtId}/${clusterExtId}`
export const ovaFacts = (world: SimulatedWorld) => world.collection<OvaFact>('content.ovas')

export function createOvaFiles(world: SimulatedWorld, settings: ContentSettings): OvaFiles {
  const move = moving(world, settings.durations, 'transfer of an OVA')
  const urls = createUrls(world, move)
  const files = ovaFacts(world)
  const disks = diskFacts(world)
  const objectFiles = createObjectFiles({ store: settings.contentStore, folder: settings.folder, move })

  const ovaFactOf = (file: OvaFile): OvaFact => {
    const fact = files.get(ovaKey(file))
    if (fact === undefined) throw unavailable('the cluster does not hold the OVA')
    return fact
  }

  return {
    canReach: async (url) => urls.canReach(url),
    async freeze(file, wanted) {
      const fact = files.get(ovaKey(file))
      if (fact !== undefined) return fact.disks.map(shownDisk)
      const at = world.clock.now()
      const frozen: OvaDisk[] = []
      for (const disk of wanted) frozen.push(await frozenDisk(disks, disk, at))
      await files.put(ovaKey(file), { at, disks: frozen })
      return frozen.map(shownDisk)
    },
    async write(file, texts, transfer) {
      const fact = ovaFactOf(file)
      if (fact.sizeBytes !== undefined) return { sizeBytes: fact.sizeBytes }
      const written = await complete({ ...fact, texts })
      await move(written.sizeBytes, transfer)
      await files.put(ovaKey(file), written)
      return { sizeBytes: written.sizeBytes }
    },
    async fetch(file, origin, transfer) {
      const held = files.get(ovaKey(file))?.sizeBytes
      if (held !== undefined) return { sizeBytes: held }
      if ('kind' in origin) {
        const fetched = await objectFiles.fetch(ovaKey(file), origin, transfer)
        await files.put(ovaKey(file), { at: 0, objectKey: origin.key, disks: [], ...fetched })
        return { sizeBytes: fetched.sizeBytes }
      }
      const { url } = origin
      const noise = await urls.contentAt(origin, () => ({ seed: url, sizeBytes: noiseBytes }))
      const fact = await foreignFact(url, noise)
      const { sizeBytes } = fact
      const received = await urls.receive(url, sizeBytes, transfer)
      await files.put(ovaKey(file), received === 'corrupt' ? await corrupted(fact) : fact)
      return { sizeBytes }
    },
    async copy(from, to, transfer) {
      if (files.get(ovaKey(to)) !== undefined) return
      const fact = ovaFactOf(from)
      await move(fact.sizeBytes ?? 0, transfer)
      if (fact.objectKey !== undefined) await objectFiles.copy(ovaKey(from), ovaKey(to))
      await files.put(ovaKey(to), fact)
    },
    async digests(file) {
      const { url, own, objectKey } = ovaFactOf(file)
      if (objectKey !== undefined) await objectFiles.require(ovaKey(file))
      const given = await urls.givenDigests(url)
      return { ...own, ...(given === undefined ? {} : { ...given, areGiven: true }) }
    },
    async verify(file, expected) {
      const { url, own } = ovaFactOf(file)
      return urls.verify(url, own?.[expected.algorithm], expected)
    },
    read(file, part) {
      const fact = ovaFactOf(file)
      return fact.objectKey === undefined ? contentOf(fact, part) : objectFiles.read(ovaKey(file), part)
    },
    async remove(file) {
      await objectFiles.remove(ovaKey(file))
      await files.remove(ovaKey(file))
    },
  }
}

async function frozenDisk(
  disks: Collection<DiskFact>,
  { diskExtId, name, format, sizeBytes }: DiskToFreeze,
  at: number,
): Promise<OvaDisk> {
  const disk = disks.get(diskExtId)
  if (disk === undefined) throw unavailable(`the disk ${diskExtId} is not there`)
  const guest = disk.os === undefined ? {} : { os: disk.os }
  const content = { seed: `disk/${diskExtId}/${at}`, sizeBytes }
  return measuredDisk({ name, format, content, heldBytes: contentBytes(disks, disk, at), ...guest })
}

const shownDisk = ({ name, sizeBytes, sha256 }: OvaDisk): FrozenDisk => ({ name, sizeBytes, sha256 })

const fileOf = ({ format, name, content }: Pick<OvaDisk, 'content' | 'format' | 'name'>): Iterable<Uint8Array> =>
  format === 'QCOW2' ? qcow2(content) : vmdk(name, content)

function contentOf({ at, texts = [], disks, noise }: OvaFact, part?: ByteRange): AsyncIterable<Uint8Array> {
  if (noise !== undefined) return bytesOf(noise, part)
  const entries = texts.map(({ name, text }) => ({ name, bytes: Buffer.from(text) }))
  const archive = tarOf(
    [
      ...entries.map(({ name, bytes }) => ({ name, sizeBytes: bytes.length, content: () => [bytes] })),
      ...disks.map((disk) => ({ name: disk.name, sizeBytes: disk.sizeBytes, content: () => fileOf(disk) })),
    ],
    at,
  )
  return part === undefined ? archive : partOf(archive, part)
}

async function measuredDisk(disk: Omit<OvaDisk, 'sha256' | 'sizeBytes'>): Promise<OvaDisk> {
  const { sizeBytes, sha256 } = await measured(fileOf(disk))
  return { ...disk, sizeBytes, sha256 }
}

async function measured(
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<{ readonly sizeBytes: number; readonly sha1: string; readonly sha256: string }> {
  const [sha1, sha256] = [createHash('sha1'), createHash('sha256')]
  let sizeBytes = 0
  for await (const bytes of content) {
    sizeBytes += bytes.length
    sha1.update(bytes)
    sha256.update(bytes)
    // Yield to the event loop: large tables would starve other requests.
    await new Promise(setImmediate)
  }
  return { sizeBytes, sha1: sha1.digest('hex'), sha256: sha256.digest('hex') }
}

/** With the size and the digests of the whole file. */
async function complete(fact: OvaFact): Promise<WholeFact> {
  const { sizeBytes, sha1, sha256 } = await measured(contentOf(fact))
  return { ...fact, sizeBytes, own: { sha1, sha256 } }
}

type WholeFact = OvaFact & Required<Pick<OvaFact, 'own' | 'sizeBytes'>>

async function foreignFact(url: string, noise: Content): Promise<WholeFact> {
  const foreign = foreignOva(url)
  if (foreign === undefined) return complete({ at: 0, url, disks: [], noise })
  const { name, seed, sizeBytes } = foreign.disk
  const disk = await measuredDisk({ name, format: 'VMDK', content: { seed, sizeBytes }, os: foreign.os })
  return complete({ at: 0, url, disks: [disk], texts: foreign.textsFor(disk) })
}

/** Other bytes in its disks. Without its URL the file has the digest of its own bytes. */
async function corrupted({ url: _, ...fact }: WholeFact): Promise<WholeFact> {
  const disks = fact.disks.map(({ content, ...disk }) => ({
    ...disk,
    content: { ...content, seed: `corrupt ${content.seed}` },
  }))
  return complete({ ...fact, disks })
}
