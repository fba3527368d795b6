/**
 * The thread that keeps the calls of all worlds, seen from the one that answers requests: hands over calls in batches, asks
 * questions. Starts with the first of either.
 */
import { Worker } from 'node:worker_threads'
import { removeStore } from '../../exchange-stores.ts'
import { QueryStopped } from '../../store/store.ts'
import { threadOptions } from '../../store/thread-options.ts'
import { Batches } from './batches.ts'
import type { AnswerTo, Bounds, CallText, FromThread, PackedPart, Question, ToThread } from './protocol.ts'

/** A batch that is not full goes when it is this old: to wake the thread costs as much as to answer several requests. */
const batchMilliseconds = 100
/** Where somebody waits for calls. */
const awaitedMilliseconds = 20

export interface JournalThreadOptions {
  readonly log: { warn(details: object, message: string): void; error(details: object, message: string): void }
  /** Calls of this file were written. */
  readonly onWritten: (file: string) => void
  /** Somebody waits to be told that. */
  readonly isAwaited: (file: string) => boolean
}

interface Asked {
  readonly resolve: (answer: any) => void
  readonly reject: (error: Error) => void
}

export class JournalThread {
  readonly #options: JournalThreadOptions
  /** Of the journals that there are. What was lost before one begins anew is no loss of the next. */
  readonly #bounds = new Map<string, Bounds>()
  readonly #batches = new Batches()
  /** Calls of this turn. */
  #justEnded: { readonly file: string; readonly call: () => CallText }[] = []
  readonly #asked = new Map<number, Asked>()
  #timer: NodeJS.Timeout | undefined
  #worker: Worker | undefined
  #number = 0
  #isClosed = false
  /** Calls that were handed over, or told as missed, and are not written yet. */
  readonly #underWay = new Map<string, number>()
  /** Files of which the last batch could not be written. */
  readonly #failing = new Set<string>()

  constructor(options: JournalThreadOptions) {
    this.#options = options
  }

  setBounds(file: string, bounds: Bounds): void {
    this.#bounds.set(file, bounds)
    if (this.#worker !== undefined) this.#say({ file, bounds })
  }

  async leave(file: string): Promise<void> {
    this.#pack()
    if (this.#worker !== undefined || this.#batches.files().has(file)) await this.ask(file, { asks: 'close' })
    this.#bounds.delete(file)
    this.#batches.drop(file)
  }

  /** What was not written yet goes as well. */
  async remove(file: string): Promise<void> {
    this.#pack()
    this.#bounds.delete(file)
    this.#batches.drop(file)
    this.#failing.delete(file)
    if (this.#worker === undefined) removeStore(file)
    else await this.ask(file, { asks: 'remove' })
  }

  /**
   * Only remembers it. All calls of a turn are put into words together, when what else there was to do in it is done: that takes
   * less time than to do it between the answers, as with [requests that come together](../../http/arrivals.ts).
   */
  write(file: string, call: () => CallText): void {
    if (this.#justEnded.push({ file, call }) === 1) setImmediate(() => this.#pack())
  }

  #pack(): void {
    const ended = this.#justEnded
    this.#justEnded = []
    for (const { file, call } of ended) {
      try {
        if (this.#isClosed) continue
        if (this.#batches.add(file, call())) this.#handOver(file)
        else this.#timer ??= setTimeout(() => this.flush(), this.#patienceFor(file))
      } catch (error) {
        this.#options.log.error({ err: error, file }, 'a call could not be recorded')
      }
    }
  }

  #patienceFor(file: string): number {
    return this.#options.isAwaited(file) ? awaitedMilliseconds : batchMilliseconds
  }

  /** Hands over all that waits here. */
  flush(): void {
    this.#pack()
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const file of this.#batches.files()) this.#handOver(file)
  }

  /** After what was written before. @throws QueryStopped */
  ask<Q extends Question>(file: string, question: Q): Promise<AnswerTo<Q>> {
    if (this.#isClosed) return Promise.reject(new QueryStopped('closing'))
    this.#pack()
    this.#handOver(file)
    const number = ++this.#number
    return new Promise((resolve, reject) => {
      this.#asked.set(number, { resolve, reject })
      // It keeps the process alive for as long as somebody waits, and no longer.
      this.#started().ref()
      this.#say({ file, number, question })
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
    this.#say({ end: true })
    await ended
  }

  #handOver(file: string): void {
    const batch = this.#batches.take(file)
    const count = countOf(batch)
    if (count === 0) return
    const buffers = batch.parts.map(({ buffer }) => buffer)
    this.#say({ file, ...batch }, buffers)
    add(this.#underWay, file, count)
  }

  #say(message: ToThread, handed: readonly ArrayBuffer[] = []): void {
    this.#started().postMessage(message, handed)
  }

  #started(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(new URL('journal-worker.ts', import.meta.url), {
      ...threadOptions(),
      resourceLimits: { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 192 },
    })
    this.#worker = worker
    worker.unref()
    worker.on('message', (message: FromThread) => this.#hear(message))
    let cause: Error | undefined
    worker.on('error', (error) => void (cause = error as Error))
    worker.on('exit', () => this.#ended(worker, cause))
    for (const [file, bounds] of this.#bounds) worker.postMessage({ file, bounds } satisfies ToThread)
    return worker
  }

  #hear(message: FromThread): void {
    if ('file' in message) {
      const { file, parts, failed } = message
      const count = countOf(message)
      this.#batches.giveBack(parts)
      add(this.#underWay, file, -count)
      if (failed === undefined) this.#failing.delete(file)
      else this.#noteFailure(file, count, failed)
      this.#options.onWritten(file)
      return
    }
    const asked = this.#asked.get(message.number)
    this.#asked.delete(message.number)
    if (this.#asked.size === 0) this.#worker?.unref()
    if ('answer' in message) asked?.resolve(message.answer)
    else if ('stopped' in message) asked?.reject(new QueryStopped('too long'))
    else asked?.reject(new Error(`the journal failed: ${message.failed}`))
  }

  /** Told once: on a disk that is full the next batch fails as well. */
  #noteFailure(file: string, count: number, fault: string): void {
    if (!this.#bounds.has(file)) return
    this.#batches.noteLost(file, count)
    if (!this.#failing.has(file)) this.#options.log.warn({ file, fault }, 'calls are missing from the journal')
    this.#failing.add(file)
  }

  #ended(worker: Worker, cause: Error | undefined): void {
    if (this.#worker === worker) this.#worker = undefined
    // What it had not written is gone; the next call starts another one.
    for (const [file, count] of this.#underWay) if (this.#bounds.has(file)) this.#batches.noteLost(file, count)
    this.#underWay.clear()
    this.#batches.forgetTaken()
    if (!this.#isClosed) this.#options.log.error({ err: cause }, 'the journal thread ended')
    for (const { reject } of this.#asked.values())
      reject(this.#isClosed ? new QueryStopped('closing') : new Error('the journal thread ended', { cause }))
    this.#asked.clear()
  }
}

const countOf = ({ parts, missed }: { readonly parts: readonly PackedPart[]; readonly missed: number }): number =>
  parts.reduce((sum, { count }) => sum + count, missed)

function add(counts: Map<string, number>, file: string, count: number): void {
  const sum = (counts.get(file) ?? 0) + count
  if (sum === 0) counts.delete(file)
  else counts.set(file, sum)
}
