import { flushCompileCache } from 'node:module'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { type RestoreOrder, workOnRestore } from './restore-work.ts'

// The thread is terminated after its answer, before Node would write the compile cache of the modules loaded here.
flushCompileCache()
await workOnRestore(parentPort as MessagePort, workerData as RestoreOrder)
