/** The thread of `seed-reader.ts`. */
import { flushCompileCache } from 'node:module'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { StartRefusal } from '../core/start-refusal.ts'
import { readHere, type SeedAnswer, type SeedOrder } from './seed-reader.ts'
import { SeedRefusal } from './seed-refusal.ts'

// This thread exits after its answer; without a flush its compile cache would be lost.
flushCompileCache()
const answer = (message: SeedAnswer): void => (parentPort as MessagePort).postMessage(message)
try {
  answer({ reading: readHere(workerData as SeedOrder) })
} catch (error) {
  if (error instanceof SeedRefusal) answer({ faults: error.faults })
  else if (error instanceof StartRefusal) answer({ refused: error.message })
  else throw error
}
