/** Simulated files of OVAs. Facts: `content.ovas` by `<OVA>/<cluster>`. Source: behaviour vmm.md 1.11, 3.6. */
import { createHash } from 'node:crypto'
import type { Digests } from '../content-source.ts'
import type { DiskFormat, FrozenDisk, OvaFile, OvaFiles, TextFile, Written } from '../ova-files.ts'
import { bytesOf, type Content } from './content/bytes.ts'
import { foreignOva } from './content/foreign-ova.ts'
import { qcow2 } from './content/qcow2.ts'
import { tarOf } from './content/tar.ts'
import { createUrls, gone, transferOf } from './content/urls.ts'
import { vmdk } from './content/vmdk.ts'
import { type DiskFact, diskFacts } from './hypervisor/facts.ts'
import type { SimulatedWorld } from './world.ts'

export interface OvaFact {
  /** Of the copies; milliseconds since 1970. */
  readonly at: number
  readonly url?: string
  readonly texts?: readonly TextFile[]
  readonly disks: readonly OvaDisk[]
  /** Content that is no archive. */
  readonly noise?: Content
  /** Of the whole file, once it is written. */
  readonly sizeBytes?: number
  readonly own?: Digests
}

export interface OvaDisk extends FrozenDisk {
  readonly format: DiskFormat
  readonly content: Content
  readonly os?: DiskFact['os']
}

const noiseBytes = 256 * 1024

export const ovaKey = ({ ovaExtId, clusterExtId }: OvaFile): string => `${ovaExtId}/${clusterExtId}`
export const ovaFacts = (world: SimulatedWorld) => world.collection<OvaFact>('content.ovas')

export function createOvaFiles(
  world: SimulatedWorld,
  settings: { readonly durations: 'instant' | 'natural' },
): OvaFiles {
  const urls = createUrls(world)
  const files = ovaFacts(world)
  const disks = diskFacts(world)
  const transfer = transferOf(world, settings.durations)

  const known = (file: OvaFile): OvaFact => {
    const fact = files.get(ovaKey(file))
    if (fact === undefined) throw gone('the cluster does not hold the OVA')
    return fact
  }
  const finish = async (file: OvaFile, fact: OvaFact, report: (share: number) => Promise<void>): Promise<Written> => {
    const { sizeBytes, sha1, sha256 } = await measured(contentOf(fact))
    await transfer(sizeBytes, report)
    await files.put(ovaKey(file), { ...fact, sizeBytes, own: { sha1, sha256 } })
    return { sizeBytes }
  }

  return {
    canReach: async (url) => urls.canReach(url),
    async freeze(file, wanted) {
      const fact = files.get(ovaKey(file))
      if (fact !== undefined) return fact.disks.map(shownDisk)
      const at = world.clock.now()
      const frozen: OvaDisk[] = []
      for (const { diskExtId, name, format, sizeBytes } of wanted) {
        const disk = disks.get(diskExtId)
        if (disk === undefined) throw gone(`the disk ${diskExtId} is not there`)
        const guest = disk.os === undefined ? {} : { os: disk.os }
        const content = { seed: `disk/${diskExtId}/${at}`, sizeBytes }
        frozen.push(await measuredDisk({ name, format, content, ...guest }))
      }
      await files.put(ovaKey(file), { at, disks: frozen })
      return frozen.map(shownDisk)
    },
    async write(file, texts, report) {
      const fact = known(file)
      return fact.sizeBytes === undefined ? finish(file, { ...fact, texts }, report) : { sizeBytes: fact.sizeBytes }
    },
    async fetch(file, url, report) {
      const fact = files.get(ovaKey(file))
      if (fact?.sizeBytes !== undefined) return { sizeBytes: fact.sizeBytes }
      const noise = await urls.contentAt(url, () => ({ seed: url, sizeBytes: noiseBytes }))
      return finish(file, await foreignFact(url, noise), report)
    },
    async digests(file) {
      const { url, own } = known(file)
      return { ...own, ...(await urls.givenDigests(url)) }
    },
    async verify(file, expected) {
      const { url, own } = known(file)
      return urls.verify(url, own?.[expected.algorithm], expected)
    },
    read: (file) => contentOf(known(file)),
    remove: (file) => files.remove(ovaKey(file)),
  }
}

const shownDisk = ({ name, sizeBytes, sha256 }: OvaDisk): FrozenDisk => ({ name, sizeBytes, sha256 })

const fileOf = ({ format, name, content }: Pick<OvaDisk, 'content' | 'format' | 'name'>): Iterable<Uint8Array> =>
  format === 'QCOW2' ? qcow2(content) : vmdk(name, content)

function contentOf({ at, texts = [], disks, noise }: OvaFact): AsyncIterable<Uint8Array> {
  if (noise !== undefined) return bytesOf(noise)
  const entries = texts.map(({ name, text }) => ({ name, bytes: Buffer.from(text) }))
  return tarOf(
    [
      ...entries.map(({ name, bytes }) => ({ name, sizeBytes: bytes.length, content: () => [bytes] })),
      ...disks.map((disk) => ({ name: disk.name, sizeBytes: disk.sizeBytes, content: () => fileOf(disk) })),
    ],
    at,
  )
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

async function foreignFact(url: string, noise: Content): Promise<OvaFact> {
  const foreign = foreignOva(url)
  if (foreign === undefined) return { at: 0, url, disks: [], noise }
  const { name, seed, sizeBytes } = foreign.disk
  const disk = await measuredDisk({ name, format: 'VMDK', content: { seed, sizeBytes }, os: foreign.os })
  return { at: 0, url, disks: [disk], texts: foreign.textsFor(disk) }
}
