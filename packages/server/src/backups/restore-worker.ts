/** The thread of `restore-work.ts`. */
import { flushCompileCache } from 'node:module'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { type RestoreOrder, workOnRestore } from './restore-work.ts'

// It is ended when it has answered, and would not keep what it was the first to load.
flushCompileCache()
await workOnRestore(parentPort as MessagePort, workerData as RestoreOrder)
