/**
 * The thread that keeps the calls of all worlds, seen from the one that answers requests: hands over calls in batches, asks
 * questions. Starts with the first of either.
 */
import { rmSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { QueryStopped } from '../../store/store.ts'
import { threadOptions, threadProgram } from '../../store/thread-options.ts'
import { Batches } from './batches.ts'
import type { AnswerTo, Bounds, CallText, FromThread, PackedPart, Question, ToThread } from './protocol.ts'

/** A batch that is not full goes when it is this old: to wake the thread costs as much as to answer several requests. */
const batchMilliseconds = 100
/** Where somebody waits for calls. */
const awaitedMilliseconds = 20
/** Calls that wait to be put into words, and what they keep in memory meanwhile. */
const maximumWaitingCalls = 16
const maximumWaitingBytes = 1024 * 1024

export interface JournalThreadOptions {
  readonly log: { warn(details: object, message: string): void; error(details: object, message: string): void }
  /** Calls were written to this one. */
  readonly onWritten: (folder: string) => void
  /** Somebody waits to be told that. */
  readonly hasListeners: (folder: string) => boolean
}

interface PendingRequest {
  readonly resolve: (answer: any) => void
  readonly reject: (error: Error) => void
}

export class JournalThread {
  readonly #options: JournalThreadOptions
  /** Of the journals that there are. What was lost before one begins anew is no loss of the next. */
  readonly #bounds = new Map<string, Bounds>()
  readonly #batches = new Batches()
  /** Calls that are not in words yet. */
  #waitingCalls: { readonly folder: string; readonly call: () => CallText }[] = []
  #waitingBytes = 0
  readonly #pending = new Map<number, PendingRequest>()
  #timer: NodeJS.Timeout | undefined
  #worker: Worker | undefined
  #lastRequest = 0
  #isClosed = false
  /** Calls that were handed over, or told as missed, and are not written yet. */
  readonly #inFlight = new Map<string, number>()
  /** Those of which the last batch could not be written. */
  readonly #failing = new Set<string>()

  constructor(options: JournalThreadOptions) {
    this.#options = options
  }

  /** Calls of before are bound as they were. */
  setBounds(folder: string, bounds: Bounds): void {
    this.#packWaiting()
    this.#sendBatch(folder)
    // A copy of its own: `leave` knows by it whose they are.
    this.#bounds.set(folder, { ...bounds })
    if (this.#worker !== undefined) this.#post({ folder, bounds })
  }

  async closeJournal(folder: string): Promise<void> {
    this.#packWaiting()
    const bounds = this.#bounds.get(folder)
    if (this.#worker !== undefined || this.#batches.folders().has(folder)) await this.ask(folder, { asks: 'close' })
    // Another one may have been opened there meanwhile.
    if (this.#bounds.get(folder) !== bounds) return
    this.#bounds.delete(folder)
    this.#batches.drop(folder)
  }

  /** What was not written yet goes as well. */
  async remove(folder: string): Promise<void> {
    this.#packWaiting()
    this.#bounds.delete(folder)
    this.#batches.drop(folder)
    this.#failing.delete(folder)
    if (this.#worker === undefined) rmSync(folder, { recursive: true, force: true })
    else await this.ask(folder, { asks: 'remove' })
  }

  /**
   * Only remembers it. Calls are put into words several at a time, which takes less than to do it between the answers, as with
   * [requests that come together](../../http/arrivals.ts).
   * @param heldBytes what it keeps in memory until then
   */
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

  /** Hands over all that waits here. */
  flush(): void {
    this.#packWaiting()
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const folder of this.#batches.folders()) this.#sendBatch(folder)
  }

  /** After what was written before. @throws QueryStopped */
  ask<Q extends Question>(folder: string, question: Q): Promise<AnswerTo<Q>> {
    if (this.#isClosed) return Promise.reject(new QueryStopped('closing'))
    this.#packWaiting()
    this.#sendBatch(folder)
    const number = ++this.#lastRequest
    return new Promise((resolve, reject) => {
      this.#pending.set(number, { resolve, reject })
      // It keeps the process alive for as long as somebody waits, and no longer.
      this.#startedWorker().ref()
      this.#post({ folder, number, question })
    })
  }

  /** Writes what waits, then ends the thread. */
  async close(): Promise<void> {
    this.flush()
    this.#isClosed = true
    const worker = this.#worker
    if (worker === undefined) return
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    worker.ref()
    this.#post({ end: true })
    await ended
  }

  #sendBatch(folder: string): void {
    if (!this.#batches.folders().has(folder)) return
    // Before they are taken: it may not start.
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
    const worker = new Worker(threadProgram('journal-worker.ts', import.meta.url), {
      ...threadOptions(),
      resourceLimits: { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 192 },
    })
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
    const asked = this.#pending.get(message.number)
    this.#pending.delete(message.number)
    if (this.#pending.size === 0) this.#worker?.unref()
    if ('answer' in message) asked?.resolve(message.answer)
    else if ('stopped' in message) asked?.reject(new QueryStopped('too long'))
    else asked?.reject(new Error(`the journal failed: ${message.failed}`))
  }

  /** Told once: on a disk that is full the next batch fails as well. */
  #noteFailure(folder: string, count: number, fault: string): void {
    if (!this.#bounds.has(folder)) return
    this.#batches.noteLost(folder, count)
    if (!this.#failing.has(folder)) this.#options.log.warn({ folder, fault }, 'calls are missing from the journal')
    this.#failing.add(folder)
  }

  #onExit(worker: Worker, cause: Error | undefined): void {
    if (this.#worker === worker) this.#worker = undefined
    // What it had not written is gone; the next call starts another one.
    for (const [folder, count] of this.#inFlight) if (this.#bounds.has(folder)) this.#batches.noteLost(folder, count)
    this.#inFlight.clear()
    this.#batches.forgetInFlight()
    if (!this.#isClosed) this.#options.log.error({ err: cause }, 'the journal thread ended')
    for (const { reject } of this.#pending.values())
      reject(this.#isClosed ? new QueryStopped('closing') : new Error('the journal thread ended', { cause }))
    this.#pending.clear()
  }
}

const countOf = ({ parts, missed }: { readonly parts: readonly PackedPart[]; readonly missed: number }): number =>
  parts.reduce((sum, { count }) => sum + count, missed)

function add(counts: Map<string, number>, folder: string, count: number): void {
  const sum = (counts.get(folder) ?? 0) + count
  if (sum === 0) counts.delete(folder)
  else counts.set(folder, sum)
}
