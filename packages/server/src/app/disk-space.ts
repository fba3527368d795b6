import { statfs } from 'node:fs/promises'
import type { Worlds } from '../worlds/worlds.ts'

const minimumFreeBytes = 128 * 1024

/** undefined: there is space. */
export async function diskSpaceFault(worlds: Worlds, folder: string): Promise<string | undefined> {
  const faults = await Promise.all([...worlds.all()].map(({ current }) => current?.store.findFault()))
  const storeFault = faults.find((fault) => fault !== undefined)
  if (storeFault !== undefined) return storeFault
  const { bavail, bfree, blocks, bsize } = await statfs(folder)
  // Some blocks are reserved for root; some file systems count none.
  const freeBytes = (process.getuid?.() === 0 ? bfree : bavail) * bsize
  return blocks > 0 && freeBytes < minimumFreeBytes ? 'The disk that holds the data folder is full.' : undefined
}
