// JavaScript, as the type stripper takes 25 MiB; `snapshots.ts` put `snapshot-work.ts` in the compile cache already.
import { parentPort, workerData } from 'node:worker_threads'
import { workOnSnapshot } from './snapshot-work.ts'

await workOnSnapshot(parentPort, workerData)
