// The thread of `snapshot-work.ts`. Plain JavaScript: the process has read that file when it started (`snapshots.ts`), so that
// the thread finds it among what Node made of the sources, and does without the type stripper (25 MiB).
import { parentPort, workerData } from 'node:worker_threads'
import { workOnSnapshot } from './snapshot-work.ts'

await workOnSnapshot(parentPort, workerData)
