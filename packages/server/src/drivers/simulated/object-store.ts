/** Simulated backup storage: real files with the world's time. Source: behaviour platform.md 8 (place), 12. */
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { ObjectStoreError, type Place } from '../object-store.ts'
import type { KnowingObjectStore } from '../object-stores.ts'
import { createPlaceDoors, type PlaceFault, type Room, silent } from './place-doors.ts'
import type { SimulatedWorld } from './world.ts'

const patienceMilliseconds = 10_000
const slowBytesPerSecond = 1024

class PlaceBehaviour {
  readonly #world: SimulatedWorld
  readonly #doors: ReturnType<typeof createPlaceDoors>
  readonly #folder: string
  /** By place: successful uploads since its current fault began. */
  readonly #uploads = new Map<string, { readonly fault: string; count: number }>()

  constructor(world: SimulatedWorld, doors: ReturnType<typeof createPlaceDoors>, folder: string) {
    this.#world = world
    this.#doors = doors
    this.#folder = folder
  }

  /** Bucket names and cluster ids may come from a foreign seed: none may lead out of the folder. */
  folderOf({ path }: Room): string {
    if (!path.every((name) => isFolderName.test(name)))
      throw new ObjectStoreError('noSuchBucket', 'its name is none that a bucket can have')
    return join(this.#folder, ...path)
  }

  async enter(place: Place, bytes = 0): Promise<Room> {
    const room = this.#doors.open(place)
    if (room.fault === 'accessDenied')
      throw new ObjectStoreError('accessDenied', 'the policy of the place refused access')
    if (room.fault === 'slowDown') throw new ObjectStoreError('unreachable', 'the service answered 503 SlowDown')
    if (room.fault === 'slow') await this.#crawl(bytes)
    return room
  }

  async #crawl(bytes: number): Promise<void> {
    const needed = (bytes / slowBytesPerSecond) * 1000
    await this.#world.clock.sleep(Math.min(needed, patienceMilliseconds))
    if (needed > patienceMilliseconds) throw silent()
  }

  faultOfUpload(room: Room): PlaceFault | undefined {
    const { fault, faultAfterUploads = 0 } = room
    if (fault === undefined) return undefined
    const name = room.path.join('/')
    const text = JSON.stringify([fault, faultAfterUploads])
    const previous = this.#uploads.get(name)
    const counter = previous?.fault === text ? previous : { fault: text, count: 0 }
    this.#uploads.set(name, counter)
    return counter.count++ < faultAfterUploads ? undefined : fault
  }
}

async function requireSpace(folder: string, capacityBytes: number | undefined, bytes: number): Promise<void> {
  if (capacityBytes === undefined) return
  let used = bytes
  for (const file of await filesBelow(folder)) used += (await stat(file)).size
  if (used > capacityBytes) throw new ObjectStoreError('full', `${used - capacityBytes} bytes are missing`)
}

export function createObjectStore(world: SimulatedWorld, settings: { readonly folder: string }): KnowingObjectStore {
  const doors = createPlaceDoors(world)
  const places = new PlaceBehaviour(world, doors, settings.folder)

  return {
    knows: (place) => doors.knows(place),
    async list(place, prefix) {
      const folder = places.folderOf(await places.enter(place))
      const objects = []
      for (const file of await filesBelow(folder)) {
        const key = relative(folder, file).split(sep).join('/')
        if (!key.startsWith(prefix)) continue
        const { size, mtimeMs } = await stat(file)
        objects.push({ key, sizeBytes: size, modifiedTime: mtimeMs })
      }
      return objects.sort((a, b) => (a.key < b.key ? -1 : 1))
    },
    async get(place, key) {
      const file = fileOf(places.folderOf(await places.enter(place)), key)
      try {
        return await readFile(file)
      } catch (cause) {
        throw new ObjectStoreError('noSuchObject', `there is no object ${key}`, cause)
      }
    },
    async put(place, key, content) {
      const room = await places.enter(place, content.byteLength)
      const folder = places.folderOf(room)
      const fault = places.faultOfUpload(room)
      if (fault === 'full') throw new ObjectStoreError('full', `${content.byteLength} bytes are missing`)
      if (fault === 'losesComplete' && key.endsWith('/COMPLETE')) return
      await requireSpace(folder, room.capacityBytes, content.byteLength)
      const now = world.clock.now() / 1000
      await writeAtomically(fileOf(folder, key), damaged(content, fault), now)
    },
    async remove(place, key) {
      await rm(fileOf(places.folderOf(await places.enter(place)), key), { force: true })
    },
  }
}

function damaged(content: Uint8Array, fault: PlaceFault | undefined): Uint8Array {
  if (fault === 'tornUpload') return content.subarray(0, Math.floor(content.byteLength / 2))
  if (fault !== 'bitFlip') return content
  const flipped = Uint8Array.from(content)
  const middle = Math.floor(flipped.byteLength / 2)
  flipped[middle] = (flipped[middle] as number) ^ 1
  return flipped
}

/** Writes a temporary file and renames it, so that no reader sees half an object. */
async function writeAtomically(file: string, content: Uint8Array, seconds: number): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const handle = await open(`${file}.uploading`, 'w', 0o600)
  try {
    await handle.writeFile(content)
    await handle.sync()
  } catch (error) {
    await rm(`${file}.uploading`, { force: true })
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error
    throw new ObjectStoreError('full', 'the disk below the world is full', error)
  } finally {
    await handle.close()
  }
  await utimes(`${file}.uploading`, seconds, seconds)
  await rename(`${file}.uploading`, file)
}

const isFolderName = /^\w[\w.-]*$/

/** Defence in depth against paths out of the folder; this program makes the keys. */
function fileOf(folder: string, key: string): string {
  if (!/^[\w.-]+(?:\/[\w.-]+)*$/.test(key) || key.split('/').includes('..'))
    throw new Error(`no key of an object: ${key}`)
  return join(folder, key)
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.uploading'))
    .map((entry) => join(entry.parentPath, entry.name))
}
