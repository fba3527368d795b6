/** A long log moved into its file by another thread: whoever writes goes on, and has little left to move. */
import { statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import { threadOptions } from '../thread-options.ts'

/** Bytes that are sooner moved than a thread is started. */
const smallWalBytes = 4 * 1024 ** 2

const walOf = (file: string): string => `${file}-wal`

/**
 * @param mode PASSIVE: as much as can be while others write. TRUNCATE: all of it, and the log is short again; who writes
 * meanwhile waits
 */
export async function checkpointWal(file: string, mode: 'PASSIVE' | 'TRUNCATE'): Promise<void> {
  const { size = 0 } = statSync(walOf(file), { throwIfNoEntry: false }) ?? {}
  if (size <= smallWalBytes) return
  const thread = new Worker(new URL('checkpoint-thread.js', import.meta.url), {
    ...threadOptions(),
    workerData: { file, mode },
  })
  // What it leaves is moved by the writer, as ever; so is all of it, where the thread fails.
  thread.on('error', () => undefined)
  await new Promise((resolve) => thread.once('exit', resolve))
}

/** What is in the log so far is on the disk. */
export async function fsyncWal(file: string): Promise<void> {
  const handle = await open(walOf(file), 'r+')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
