/** The main thread's side of the journal thread. The first call or query starts the thread. */
import { rmSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import type { IdleThreads } from '../../store/idle-threads.ts'
import { QueryStopped } from '../../store/store.ts'
import { threadOptions, threadProgram } from '../../store/thread-options.ts'
import { Batches } from './batches.ts'
import type { AnswerTo, Bounds, CallText, FromThread, PackedPart, Question, ToThread } from './protocol.ts'

/** Age at which a partial batch is sent: waking the thread costs as much as answering several requests. */
const batchMilliseconds = 100
/** The same while a request waits for calls of this journal. */
const awaitedMilliseconds = 20
const maximumWaitingCalls = 16
const maximumWaitingBytes = 64 * 1024

export interface JournalThreadOptions {
  readonly log: { warn(details: object, message: string): void; error(details: object, message: string): void }
  readonly onWritten: (folder: string) => void
  readonly hasListeners: (folder: string) => boolean
  /** Absent: the thread ends when the journals close. */
  readonly idleThreads?: IdleThreads | undefined
}

interface PendingRequest {
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: Error) => void
}

export class JournalThread {
  readonly #options: JournalThreadOptions
  /** Bounds of the open journals. Losses of a journal that is not open are not reported to its successor. */
  readonly #bounds = new Map<string, Bounds>()
  readonly #batches = new Batches()
  #waitingCalls: { readonly folder: string; readonly call: () => CallText }[] = []
  #waitingBytes = 0
  readonly #pending = new Map<number, PendingRequest>()
  #timer: NodeJS.Timeout | undefined
  #worker: Worker | undefined
  #lastRequest = 0
  #isClosed = false
  /** By journal: calls sent to the thread, or reported as missed, and not yet written. */
  readonly #inFlight = new Map<string, number>()
  readonly #failing = new Set<string>()

  constructor(options: JournalThreadOptions) {
    this.#options = options
  }

  /** Calls that were recorded earlier are sent first: the previous bounds apply to them. */
  setBounds(folder: string, bounds: Bounds): void {
    this.#packWaiting()
    this.#sendBatch(folder)
    // A fresh object: `closeJournal` compares identity to detect that the journal was reopened while it waited.
    this.#bounds.set(folder, { ...bounds })
    if (this.#worker !== undefined) this.#post({ folder, bounds })
  }

  async closeJournal(folder: string): Promise<void> {
    this.#packWaiting()
    const bounds = this.#bounds.get(folder)
    if (this.#worker !== undefined || this.#batches.folders().has(folder)) await this.ask(folder, { asks: 'close' })
    // The journal was reopened while the thread closed it.
    if (this.#bounds.get(folder) !== bounds) return
    this.#bounds.delete(folder)
    this.#batches.drop(folder)
  }

  async remove(folder: string): Promise<void> {
    this.#packWaiting()
    this.#bounds.delete(folder)
    this.#batches.drop(folder)
    this.#failing.delete(folder)
    if (this.#worker === undefined) rmSync(folder, { recursive: true, force: true })
    else await this.ask(folder, { asks: 'remove' })
  }

  /** Packs several calls together, which is cheaper, see http/arrivals.ts. @param heldBytes memory that `call` retains until then */
  write(folder: string, call: () => CallText, heldBytes: number): void {
    this.#waitingBytes += heldBytes
    if (this.#waitingCalls.push({ folder, call }) >= maximumWaitingCalls || this.#waitingBytes >= maximumWaitingBytes)
      this.#packWaiting()
    else this.#timer ??= setTimeout(() => this.flush(), this.#flushDelay(folder))
  }

  #packWaiting(): void {
    const ended = this.#waitingCalls
    this.#waitingCalls = []
    this.#waitingBytes = 0
    for (const { folder, call } of ended) {
      try {
        if (this.#isClosed) continue
        if (this.#batches.add(folder, call())) this.#sendBatch(folder)
        else this.#timer ??= setTimeout(() => this.flush(), this.#flushDelay(folder))
      } catch (error) {
        this.#batches.noteLost(folder, 1)
        this.#options.log.error({ err: error, folder }, 'a call could not be recorded')
      }
    }
  }

  #flushDelay(folder: string): number {
    return this.#options.hasListeners(folder) ? awaitedMilliseconds : batchMilliseconds
  }

  flush(): void {
    this.#packWaiting()
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const folder of this.#batches.folders()) this.#sendBatch(folder)
  }

  /** Answered after all earlier calls are written. @throws QueryStopped */
  ask<Q extends Question>(folder: string, question: Q): Promise<AnswerTo<Q>> {
    if (this.#isClosed) return Promise.reject(new QueryStopped('closing'))
    this.#packWaiting()
    this.#sendBatch(folder)
    const number = ++this.#lastRequest
    return new Promise((resolve, reject) => {
      this.#pending.set(number, { resolve: resolve as (answer: unknown) => void, reject })
      // A pending query keeps the process alive; `#onMessage` releases it.
      this.#startedWorker().ref()
      this.#post({ folder, number, question })
    })
  }

  async close(): Promise<void> {
    this.flush()
    this.#isClosed = true
    const worker = this.#worker
    if (worker === undefined) return
    worker.ref()
    await this.#release(worker)
  }

  #release(worker: Worker): Promise<void> {
    const { idleThreads } = this.#options
    return new Promise((resolve) => {
      worker.once('exit', () => resolve())
      if (idleThreads === undefined) {
        this.#post({ end: true })
        return
      }
      worker.on('message', (message: FromThread) => {
        if (!('resting' in message)) return
        this.#worker = undefined
        idleThreads.keep(worker)
        resolve()
      })
      this.#post({ rest: true })
    })
  }

  #sendBatch(folder: string): void {
    if (!this.#batches.folders().has(folder)) return
    // Started first: if the thread does not start, the batch is not lost.
    this.#startedWorker()
    const batch = this.#batches.takeBatch(folder)
    const count = countOf(batch)
    const buffers = batch.parts.map(({ buffer }) => buffer)
    this.#post({ folder, ...batch }, buffers)
    add(this.#inFlight, folder, count)
  }

  #post(message: ToThread, handed: readonly ArrayBuffer[] = []): void {
    this.#startedWorker().postMessage(message, handed)
  }

  #startedWorker(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const worker = this.#options.idleThreads?.take() ?? startThread()
    this.#worker = worker
    worker.unref()
    worker.on('message', (message: FromThread) => this.#onMessage(message))
    let cause: Error | undefined
    worker.on('error', (error) => void (cause = error as Error))
    worker.on('exit', () => this.#onExit(worker, cause))
    for (const [folder, bounds] of this.#bounds) worker.postMessage({ folder, bounds } satisfies ToThread)
    return worker
  }

  #onMessage(message: FromThread): void {
    if ('resting' in message) return
    if ('folder' in message) {
      const { folder, parts, failed } = message
      const count = countOf(message)
      this.#batches.release(parts)
      add(this.#inFlight, folder, -count)
      if (failed === undefined) this.#failing.delete(folder)
      else this.#noteFailure(folder, count, failed)
      this.#options.onWritten(folder)
      return
    }
    const request = this.#pending.get(message.number)
    this.#pending.delete(message.number)
    if (this.#pending.size === 0) this.#worker?.unref()
    if ('answer' in message) request?.resolve(message.answer)
    else if ('stopped' in message) request?.reject(new QueryStopped('too long'))
    else request?.reject(new Error(`the journal failed: ${message.failed}`))
  }

  /** Logs the first failure only: while the disk is full, every batch fails. */
  #noteFailure(folder: string, count: number, fault: string): void {
    if (!this.#bounds.has(folder)) return
    this.#batches.noteLost(folder, count)
    if (!this.#failing.has(folder)) this.#options.log.warn({ folder, fault }, 'calls are missing from the journal')
    this.#failing.add(folder)
  }

  #onExit(worker: Worker, cause: Error | undefined): void {
    if (this.#worker === worker) this.#worker = undefined
    // Unwritten calls are lost; the next call or query starts a new thread.
    for (const [folder, count] of this.#inFlight) if (this.#bounds.has(folder)) this.#batches.noteLost(folder, count)
    this.#inFlight.clear()
    this.#batches.forgetInFlight()
    if (!this.#isClosed) this.#options.log.error({ err: cause }, 'the journal thread ended')
    for (const { reject } of this.#pending.values())
      reject(this.#isClosed ? new QueryStopped('closing') : new Error('the journal thread ended', { cause }))
    this.#pending.clear()
  }
}

const startThread = (): Worker =>
  new Worker(threadProgram('journal-worker.ts', import.meta.url), {
    ...threadOptions(),
    resourceLimits: { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 192 },
  })

const countOf = ({ parts, missed }: { readonly parts: readonly PackedPart[]; readonly missed: number }): number =>
  parts.reduce((sum, { count }) => sum + count, missed)

function add(counts: Map<string, number>, folder: string, count: number): void {
  const sum = (counts.get(folder) ?? 0) + count
  if (sum === 0) counts.delete(folder)
  else counts.set(folder, sum)
}
