/** A folder with backups, such as a mounted share or a copy of a bucket. Read only. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { type ObjectStore, ObjectStoreError } from '../object-store.ts'

export function createFolderStore(folder: string): ObjectStore {
  const refuse = (): never => {
    throw new ObjectStoreError('accessDenied', `${folder} is only read`)
  }
  return {
    async list(_place, prefix) {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((cause: Error) => {
        throw new ObjectStoreError('unreachable', `the folder ${folder} cannot be read (${cause.message})`, cause)
      })
      const objects = []
      for (const entry of entries) {
        const file = join(entry.parentPath, entry.name)
        const key = relative(folder, file).split(sep).join('/')
        if (!entry.isFile() || !key.startsWith(prefix)) continue
        const { size, mtimeMs } = await stat(file)
        objects.push({ key, sizeBytes: size, modifiedTime: mtimeMs })
      }
      return objects.sort((a, b) => (a.key < b.key ? -1 : 1))
    },
    async get(_place, key) {
      const file = join(folder, key)
      if (relative(folder, file).startsWith('..'))
        throw new ObjectStoreError('noSuchObject', `${key} leaves the folder`)
      try {
        return await readFile(file)
      } catch (cause) {
        throw new ObjectStoreError('noSuchObject', `there is no file ${file}`, cause)
      }
    },
    put: async () => refuse(),
    remove: async () => refuse(),
  }
}
