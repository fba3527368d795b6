import { statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import { threadOptions } from '../thread-options.ts'

/** A smaller log is checkpointed faster than a thread starts. */
const smallWalBytes = 4 * 1024 ** 2

const walOf = (file: string): string => `${file}-wal`

/** @param mode PASSIVE: as much as possible while others write; TRUNCATE: all, writers wait */
export async function checkpointWal(file: string, mode: 'PASSIVE' | 'TRUNCATE'): Promise<void> {
  const { size = 0 } = statSync(walOf(file), { throwIfNoEntry: false }) ?? {}
  if (size <= smallWalBytes) return
  const thread = new Worker(new URL('checkpoint-thread.js', import.meta.url), {
    ...threadOptions(),
    workerData: { file, mode },
  })
  // Frames that the thread leaves (all of them, if it fails) are checkpointed by the writer as usual.
  thread.on('error', () => undefined)
  await new Promise((resolve) => thread.once('exit', resolve))
}

export async function fsyncWal(file: string): Promise<void> {
  const handle = await open(walOf(file), 'r+')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
