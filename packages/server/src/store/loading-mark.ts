import { rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { flushFolder } from './flush.ts'

/** Beside this file a store may be torn: its pages are flushed only when it is complete. */
export const loadingMark = (file: string): string => `${file}-loading`

export async function markLoading(file: string): Promise<void> {
  await writeFile(loadingMark(file), '', { mode: 0o600, flush: true })
  await flushFolder(dirname(file))
}

export async function markLoaded(file: string): Promise<void> {
  await rm(loadingMark(file), { force: true })
  await flushFolder(dirname(file))
}
