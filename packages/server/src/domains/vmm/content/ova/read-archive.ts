/** Reads the archive of an OVA as a stream, and checks it against its manifest. Source: DMTF DSP0243 1.1.0. */

import { createHash } from 'node:crypto'
import type { DiskFormat } from '../../../../drivers/ova-files.ts'
import { DriverError } from '../../../context.ts'
import { type Described, OvaFault, readDescriptor } from './read-ovf.ts'

/** Descriptors and manifests together: they are kept until the archive is read. */
const longestTexts = 1024 ** 2
const mostFiles = 2048
const longestName = 1024
const magicBytes = 4
const magicOf: Readonly<Record<DiskFormat, string>> = { QCOW2: 'QFI\xfb', VMDK: 'KDMV' }

interface FileSeen {
  readonly magic: string
  readonly sha1: string
  readonly sha256: string
  readonly text?: string
}

/** @throws OvaFault; DriverError of the content */
export async function readArchive(content: AsyncIterable<Uint8Array>): Promise<Described> {
  const files = await filesIn(content)
  const [descriptor, ...others] = [...files.keys()].filter((name) => /\.ovf$/i.test(name))
  if (descriptor === undefined) throw new OvaFault('it has no descriptor (a file that ends with .ovf)')
  if (others.length > 0) throw new OvaFault(`one descriptor is expected, found ${others.length + 1}`)
  const manifest = descriptor.replace(/\.ovf$/i, '.mf')
  checkManifest(files, files.get(manifest)?.text ?? '')
  const described = await readDescriptor(files.get(descriptor)?.text ?? '')
  for (const { fileName, format } of described.disks) {
    const file = files.get(fileName)
    if (file === undefined) throw new OvaFault(`the file "${fileName.slice(0, 200)}" of a disk is missing`)
    if (file.magic !== magicOf[format]) throw new OvaFault(`the file "${fileName.slice(0, 200)}" is no ${format} disk`)
  }
  return described
}

async function filesIn(content: AsyncIterable<Uint8Array>): Promise<ReadonlyMap<string, FileSeen>> {
  const { createTarDecoder } = await import('modern-tar')
  const files = new Map<string, FileSeen>()
  const room = { bytes: longestTexts }
  try {
    for await (const { header, body } of streamOf(content).pipeThrough(createTarDecoder({ strict: true }))) {
      if (files.size === mostFiles) throw new OvaFault(`it has more than ${mostFiles} files`)
      if (header.name.length > longestName)
        throw new OvaFault(
          `a name of at most ${longestName} characters is expected, found "${header.name.slice(0, 200)}…"`,
        )
      if (files.has(header.name)) throw new OvaFault(`it has two files "${header.name.slice(0, 200)}"`)
      files.set(header.name, await seen(header.name, body, room))
    }
  } catch (error) {
    if (error instanceof OvaFault || error instanceof DriverError) throw error
    throw new OvaFault(`it is no tar archive: ${(error as Error).message}`)
  }
  return files
}

function streamOf(content: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const reading = content[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reading.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await reading.return?.()
    },
  })
}

async function seen(name: string, body: AsyncIterable<Uint8Array>, room: { bytes: number }): Promise<FileSeen> {
  const [sha1, sha256] = [createHash('sha1'), createHash('sha256')]
  const isText = /\.(?:ovf|mf)$/i.test(name)
  const kept: Uint8Array[] = []
  let size = 0
  for await (const bytes of body) {
    sha1.update(bytes)
    sha256.update(bytes)
    if (isText || size < magicBytes) kept.push(bytes)
    size += bytes.length
    if (isText) room.bytes -= bytes.length
    if (room.bytes < 0) throw new OvaFault('its descriptors and manifests are larger than 1 MiB')
  }
  const start = Buffer.concat(kept)
  return {
    magic: start.toString('latin1', 0, magicBytes),
    sha1: sha1.digest('hex'),
    sha256: sha256.digest('hex'),
    ...(isText ? { text: start.toString('utf8') } : {}),
  }
}

/** An archive need not have a manifest. */
function checkManifest(files: ReadonlyMap<string, FileSeen>, manifest: string): void {
  for (const line of manifest.split(/\r?\n/)) {
    if (line.trim() === '') continue
    const [, algorithm = '', name = '', hex = ''] = /^(\w+) ?\((.+)\) ?= ?([0-9a-fA-F]+)\s*$/.exec(line) ?? []
    const file = files.get(name)
    const found = algorithm === 'SHA256' ? file?.sha256 : algorithm === 'SHA1' ? file?.sha1 : undefined
    if (found === undefined)
      throw new OvaFault(
        `a line like "SHA256(file)= digest" is expected in its manifest, found "${line.slice(0, 200)}"`,
      )
    if (found !== hex.toLowerCase())
      throw new OvaFault(`the ${algorithm} digest of "${name}" is expected to be ${hex}, found ${found}`)
  }
}
