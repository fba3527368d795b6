import { statSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { threadOptions } from '../thread-options.ts'

/** A smaller log is checkpointed faster than a thread starts. */
const smallWalBytes = 4 * 1024 ** 2

/** As much as possible while others write. */
export async function checkpointWal(file: string): Promise<void> {
  const { size = 0 } = statSync(`${file}-wal`, { throwIfNoEntry: false }) ?? {}
  if (size <= smallWalBytes) return
  const thread = new Worker(new URL('checkpoint-thread.js', import.meta.url), {
    ...threadOptions(),
    workerData: { file },
  })
  // Frames that the thread leaves (all of them, if it fails) are checkpointed by the writer as usual.
  thread.on('error', () => undefined)
  await new Promise((resolve) => thread.once('exit', resolve))
}
