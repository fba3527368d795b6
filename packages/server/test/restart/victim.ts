/**
 * A service that ends itself, as a power failure would, at a given moment. It says what it wants to know and what it has
 * to tell in lines: reads one order (JSON), writes its URL. Waiting for the order with everything loaded, it starts fast.
 */
import { once } from 'node:events'
import { ServerResponse } from 'node:http'
import { flushCompileCache } from 'node:module'
import { createInterface } from 'node:readline'
import { startApp } from '../support/start-app.ts'

export type Moment =
  | { readonly definition: string; readonly step: string; readonly phase: 'run' | 'record' | 'undo' }
  /** Between the commit of the first mutation and its answer. */
  | { readonly phase: 'answer' }

export interface Order {
  readonly folder: string
  /** World time in milliseconds since 1970. */
  readonly startAt: number
  /** Absent: it lives until somebody else ends it. */
  readonly kill?: Moment
}

// A killed process would not keep it.
flushCompileCache()
const [line] = await once(createInterface({ input: process.stdin }), 'line')
const { folder, startAt, kill }: Order = JSON.parse(line)

function die(): never {
  process.kill(process.pid, 'SIGKILL')
  // Nothing of this process happens any more while the signal is on its way.
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

if (kill?.phase === 'answer') {
  const writeHead = ServerResponse.prototype.writeHead
  ServerResponse.prototype.writeHead = function (this: ServerResponse, ...given: any[]) {
    if (this.req.method !== 'GET' && (given[0] === 201 || given[0] === 202)) die()
    return writeHead.apply(this, given as never)
  } as typeof writeHead
}

const app = await startApp({
  folder,
  startAt,
  beforeStep: (definition, step, phase) => {
    if (kill?.phase === phase && 'step' in kill && kill.definition === definition && kill.step === step) die()
  },
})
process.stdout.write(`${(await app.listen()).url}\n`)
