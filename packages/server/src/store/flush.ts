import { open } from 'node:fs/promises'

/** Windows flushes only handles with write access. */
export const flushFile = (file: string): Promise<void> => sync(file, 'r+')

/** Makes a new name durable. Windows cannot open folders, and does not need this. */
export const flushFolder = async (folder: string): Promise<void> =>
  process.platform === 'win32' ? undefined : sync(folder, 'r')

async function sync(path: string, flags: string): Promise<void> {
  await using handle = await open(path, flags)
  await handle.sync()
}
