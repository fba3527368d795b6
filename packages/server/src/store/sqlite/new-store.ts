import { open, rename, rm } from 'node:fs/promises'
import type { Table } from '../tables.ts'
import { connect, makeTablesInSteps } from './schema.ts'

/**
 * Makes the file of a store, with its tables. A crash leaves a temporary file, which the next call replaces.
 * @throws StoreRefusal when the disk is full
 */
export async function createStoreFile(file: string, tables: ReadonlyMap<string, Table>): Promise<void> {
  const temporary = `${file}.new`
  await remove(temporary, `${temporary}-wal`, `${temporary}-shm`, `${file}-wal`, `${file}-shm`)
  const database = connect(temporary, { durable: false })
  try {
    await makeTablesInSteps(database, tables)
  } catch (error) {
    database.close()
    await remove(temporary, `${temporary}-wal`, `${temporary}-shm`)
    throw error
  }
  database.close()
  await using handle = await open(temporary, 'r+')
  await handle.sync()
  await rename(temporary, file)
}

async function remove(...files: readonly string[]): Promise<void> {
  for (const file of files) await rm(file, { force: true })
}
