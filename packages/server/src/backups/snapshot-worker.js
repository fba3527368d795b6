// Thread program that runs `snapshot-work.ts`. Plain JavaScript, because loading the type stripper takes 25 MiB: the process has
// imported that file already (`snapshots.ts`), so the thread finds it in the compile cache.
import { parentPort, workerData } from 'node:worker_threads'
import { workOnSnapshot } from './snapshot-work.ts'

await workOnSnapshot(parentPort, workerData)
