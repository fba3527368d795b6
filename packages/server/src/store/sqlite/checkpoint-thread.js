// A thread that moves the log of a store into its file, and ends. Plain JavaScript, so that it needs nothing but Node itself.
import { DatabaseSync } from 'node:sqlite'
import { workerData } from 'node:worker_threads'

const { file } = workerData
const database = new DatabaseSync(file, { timeout: 5000 })
database.exec('PRAGMA wal_checkpoint(PASSIVE)')
database.close()
