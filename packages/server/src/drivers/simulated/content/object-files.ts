/** Content that was read from an object store: real files below the world's folder. Source: behaviour vmm.md 1.8, 1.11. */
import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { access, constants, copyFile, link, mkdir, open, rename, rm, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DriverError } from '../../../core/tasks/define-task.ts'
import { diskFault } from '../../../store/disk-fault.ts'
import type { ByteRange, Digests, ObjectOrigin, Transfer } from '../../content-source.ts'
import { type ContentStore, type ContentVersion, objectChanged } from '../../content-store.ts'
import { type Move, unavailable } from './urls.ts'

/** Held in memory, several times over. */
const partBytes = 4 * 1024 ** 2
/** Hashed without yielding to the event loop. */
const sliceBytes = 1024 ** 2
/** Without this room beside the content, the store of the service could not write any more. */
const spareBytes = 64 * 1024 ** 2

interface ObjectFiles {
  look(origin: ObjectOrigin, stopping?: AbortSignal): Promise<ContentVersion>
  /** Each call starts from the beginning. @throws DriverError, final, also when the disk of the service has no room */
  fetch(name: string, origin: ObjectOrigin, transfer: Transfer): Promise<FetchedFile>
  /** Shares the bytes: files are never changed in place. @throws DriverError, final, when the file is missing */
  copy(from: string, to: string): Promise<void>
  /** @throws DriverError, final, when the file is missing: backups and exports of a world have the fact alone */
  require(name: string): Promise<void>
  read(name: string, part?: ByteRange): AsyncIterable<Uint8Array>
  remove(name: string): Promise<void>
}

interface FetchedFile {
  readonly sizeBytes: number
  readonly own: Required<Digests>
}

interface ObjectFileOptions {
  readonly store: ContentStore | undefined
  readonly folder: string
  readonly move: Move
}

export function createObjectFiles({ store, folder, move }: ObjectFileOptions): ObjectFiles {
  const content = join(folder, 'content')
  const fileOf = (name: string): string => join(content, name.replaceAll(/[^\w-]/g, '.'))

  async function look(origin: ObjectOrigin, stopping?: AbortSignal): Promise<ContentVersion> {
    // A task may have been accepted by a service that had one.
    if (store === undefined) throw unavailable('the service has no object store (--object-store)')
    const found = await store.look(origin, stopping)
    if (origin.version !== undefined && origin.version !== found.version) throw objectChanged()
    return found
  }

  async function require(name: string): Promise<void> {
    await access(fileOf(name)).catch((cause) => {
      throw new DriverError('the cluster does not hold the content', { retryable: false, cause })
    })
  }

  async function remove(name: string): Promise<void> {
    // A world without such files stays free of disk I/O, which a clock that is moved by hand would have to wait for.
    if (!existsSync(content)) return
    for (const file of [fileOf(name), partial(fileOf(name))]) await rm(file, { force: true })
  }

  return {
    look,
    require,
    async fetch(name, origin, transfer) {
      const { sizeBytes, version } = await look(origin, transfer.stopping)
      await remove(name)
      await requireDiskRoom(content, sizeBytes)
      const parts = partsOf(origin, { sizeBytes, version }, transfer)
      const own = await writeFile(fileOf(name), parts)
      return { sizeBytes, own }
    },
    async copy(from, to) {
      await require(from)
      const [source, target] = [fileOf(from), fileOf(to)]
      await rm(target, { force: true })
      // Some file systems have no hard links.
      await link(source, target).catch(() => copyFile(source, target, constants.COPYFILE_FICLONE))
      await flushFolder(content)
    },
    // A generator: a stream without a reader would keep its file open, or end the process with its error.
    async *read(name, { first, last } = { first: 0, last: Number.POSITIVE_INFINITY }) {
      yield* createReadStream(fileOf(name), { start: first, end: last, highWaterMark: sliceBytes })
    },
    remove,
  }

  async function* partsOf(
    origin: ObjectOrigin,
    { sizeBytes, version }: ContentVersion,
    transfer: Transfer,
  ): AsyncGenerator<Uint8Array> {
    for (let first = 0; first < sizeBytes; first += partBytes) {
      const last = Math.min(first + partBytes, sizeBytes) - 1
      const bytes = await (store as ContentStore).read(origin, version, { first, last }, transfer.stopping)
      yield bytes
      const report = (share: number): Promise<void> => transfer.report((first + share * bytes.length) / sizeBytes)
      await move(bytes.length, { ...transfer, bytesPerSecond: () => transfer.bytesPerSecond(), report })
      await report(1)
    }
  }
}

/** With this ending, copies of the world leave the file out. */
const partial = (file: string): string => `${file}.uploading`

/** @throws DriverError, final: a task that tried again would fill the disk each time */
async function requireDiskRoom(folder: string, sizeBytes: number): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const { bavail, blocks, bsize } = await statfs(folder)
  // Some file systems count no blocks.
  if (blocks > 0 && sizeBytes > bavail * bsize - spareBytes)
    throw unavailable('the disk of the service has no room for it')
}

/** Durable, under its name only when it is complete. Its folder must be there. */
async function writeFile(file: string, parts: AsyncIterable<Uint8Array>): Promise<Required<Digests>> {
  const folder = dirname(file)
  const [sha1, sha256] = [createHash('sha1'), createHash('sha256')]
  const handle = await open(partial(file), 'w', 0o600)
  try {
    for await (const bytes of parts) {
      await handle.writeFile(bytes)
      for (let at = 0; at < bytes.length; at += sliceBytes) {
        const slice = bytes.subarray(at, at + sliceBytes)
        sha1.update(slice)
        sha256.update(slice)
        await new Promise(setImmediate)
      }
    }
    await handle.sync()
  } catch (error) {
    // The task waits for room, and others need what this file takes.
    if (diskFault(error) !== undefined) await rm(partial(file), { force: true })
    throw error
  } finally {
    await handle.close()
  }
  await rename(partial(file), file)
  await flushFolder(folder)
  return { sha1: sha1.digest('hex'), sha256: sha256.digest('hex') }
}

/** A power failure may lose new names otherwise. Windows cannot open folders, and does not need this. */
async function flushFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}
