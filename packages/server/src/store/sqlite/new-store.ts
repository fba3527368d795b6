import { rename, rm } from 'node:fs/promises'
import { flushFile } from '../flush.ts'
import type { Table } from '../tables.ts'
import { connect, makeTablesInSteps } from './schema.ts'

/** Creates file and tables. After a crash the next call replaces the temporary file. @throws StoreRefusal when the disk is full */
export async function createStoreFile(file: string, tables: ReadonlyMap<string, Table>): Promise<void> {
  const temporary = `${file}.new`
  for (const former of [temporary, `${file}-wal`, `${file}-shm`, `${file}-journal`]) await rm(former, { force: true })
  // A write-ahead log that a full disk does not take back into the file would be lost with the new name.
  const database = connect(temporary, { durable: false, isExclusive: true })
  try {
    database.exec('PRAGMA journal_mode = MEMORY')
    await makeTablesInSteps(database, tables)
    // Kept in the file's header: the first connection would have to change and flush it.
    database.exec('PRAGMA journal_mode = WAL')
  } catch (error) {
    database.close()
    await rm(temporary, { force: true })
    throw error
  }
  database.close()
  await flushFile(temporary)
  await rename(temporary, file)
}
