/**
 * A service that ends itself, as a power failure would, at a given moment. It says what it wants to know and what it has
 * to tell in lines: reads one order (JSON), writes its URL. Waiting for the order with everything loaded, it starts fast.
 * Each further line is another moment to end at, and is answered.
 */
import { once } from 'node:events'
import fs from 'node:fs'
import { ServerResponse } from 'node:http'
import { flushCompileCache, syncBuiltinESMExports } from 'node:module'
import { basename } from 'node:path'
import { createInterface } from 'node:readline'
import type { Config } from '../../src/config/config.ts'
import { ApiError } from '../../src/core/api-error.ts'
import type { StepPhase } from '../../src/core/tasks/runner.ts'
import { startApp } from '../support/start-app.ts'

export interface StepMoment {
  readonly definition: string
  readonly step: string
  readonly phase: StepPhase
}

export type Moment =
  | StepMoment
  /** Between the commit of the first mutation and its answer. */
  | { readonly phase: 'answer' }
  /** Before or after a file gets the name of the store. */
  | { readonly phase: 'beforeRename' | 'afterRename' }
  /** Half of a copy of a store of this name is written. */
  | { readonly phase: 'amidCopy'; readonly name: string }
  /** An object of a backup is written to the simulated bucket, and has not got its name yet. */
  | { readonly phase: 'beforeObject'; readonly name: string }

export interface Order {
  readonly folder: string
  /** World time in milliseconds since 1970. */
  readonly startAt: number
  /** Absent: it lives until somebody else ends it. */
  readonly kill?: Moment
  readonly config?: Partial<Config>
  /** Version that it says to have. */
  readonly version?: string
  /** A step that fails for good. */
  readonly fail?: StepMoment
  /** No step is a moment: those that have nothing to do are written together, as in a service that nobody watches. */
  readonly isUnwatched?: true
}

// A killed process would not keep it.
flushCompileCache()
const lines = createInterface({ input: process.stdin })
const [line] = await once(lines, 'line')
const { folder, startAt, fail, config = {}, version, isUnwatched, ...order }: Order = JSON.parse(line)
let kill = order.kill
lines.on('line', (moment) => {
  kill = JSON.parse(moment) as StepMoment
  process.stdout.write('armed\n')
})

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

if (kill?.phase === 'beforeRename' || kill?.phase === 'afterRename') {
  const { phase } = kill
  const { renameSync } = fs
  fs.renameSync = (from, to) => {
    const isStore = String(to).endsWith('world.sqlite')
    if (isStore && phase === 'beforeRename') die()
    renameSync(from, to)
    if (isStore) die()
  }
  syncBuiltinESMExports()
}

if (kill?.phase === 'amidCopy') {
  const { name } = kill
  const { copyFile } = fs.promises
  fs.promises.copyFile = async (from, to, mode) => {
    await copyFile(from, to, mode)
    if (!basename(String(to)).startsWith(name)) return
    fs.truncateSync(to, fs.statSync(to).size / 2)
    die()
  }
  syncBuiltinESMExports()
}

if (kill?.phase === 'beforeObject') {
  const { name } = kill
  const { rename } = fs.promises
  fs.promises.rename = async (from, to) => {
    if (String(to).includes('/buckets/') && String(to).endsWith(`/${name}`)) die()
    await rename(from, to)
  }
  syncBuiltinESMExports()
}

const beforeStep = (definition: string, step: string, phase: StepPhase): void => {
  const isNow = (moment: Moment | undefined): boolean =>
    moment?.phase === phase && 'step' in moment && moment.definition === definition && moment.step === step
  if (isNow(kill)) die()
  if (isNow(fail)) throw new ApiError('CONFLICT', { fault: 'A test made it fail.' })
}

const app = await startApp({
  folder,
  startAt,
  config,
  ...(version === undefined ? {} : { version }),
  ...(isUnwatched === true ? {} : { beforeStep }),
})
process.stdout.write(`${(await app.listen()).url}\n`)
