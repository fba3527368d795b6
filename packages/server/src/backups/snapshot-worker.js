// JavaScript: the type stripper takes 25 MiB. `snapshots.ts` has imported `snapshot-work.ts`, so the compile cache has it.
import { parentPort, workerData } from 'node:worker_threads'
import { workOnSnapshot } from './snapshot-work.ts'

await workOnSnapshot(parentPort, workerData)
