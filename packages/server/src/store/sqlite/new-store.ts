import { open, rename, rm } from 'node:fs/promises'
import type { Table } from '../tables.ts'
import { connect, makeTablesInSteps } from './schema.ts'

/** Makes the file of a store, with its tables. A crash leaves a temporary file, which the next call replaces. */
export async function createStoreFile(file: string, tables: ReadonlyMap<string, Table>): Promise<void> {
  const temporary = `${file}.new`
  for (const former of [temporary, `${temporary}-wal`, `${temporary}-shm`, `${file}-wal`, `${file}-shm`])
    await rm(former, { force: true })
  const database = connect(temporary, { durable: false })
  try {
    await makeTablesInSteps(database, tables)
  } finally {
    database.close()
  }
  await using handle = await open(temporary, 'r+')
  await handle.sync()
  await rename(temporary, file)
}
