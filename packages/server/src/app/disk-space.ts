/** Whether the disk can take further writes. */
import { statfs } from 'node:fs/promises'
import type { Worlds } from '../worlds/worlds.ts'

/** With less free space not even one request can be stored. */
const minimumFreeBytes = 128 * 1024

/** @returns why the next write would fail; undefined: there is space */
export async function diskSpaceFault(worlds: Worlds, folder: string): Promise<string | undefined> {
  const faults = await Promise.all([...worlds.all()].map(({ current }) => current?.store.findFault()))
  const storeFault = faults.find((fault) => fault !== undefined)
  if (storeFault !== undefined) return storeFault
  const { bavail, bfree, blocks, bsize } = await statfs(folder)
  // Some blocks are reserved for the superuser. A file system that counts no blocks says nothing about its space.
  const freeBytes = (process.getuid?.() === 0 ? bfree : bavail) * bsize
  return blocks > 0 && freeBytes < minimumFreeBytes ? 'The disk that holds the data folder is full.' : undefined
}
