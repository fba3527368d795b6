/**
 * The thread that keeps the calls of all worlds, seen from the one that answers requests: hands over texts in batches, asks
 * questions. Starts with the first of either.
 */
import { Worker } from 'node:worker_threads'
import { removeStore } from '../../exchange-stores.ts'
import { QueryStopped } from '../../store/store.ts'
import { threadOptions } from '../../store/thread-options.ts'
import type { AnswerTo, Bounds, CallPieces, FromThread, Question, ToThread } from './protocol.ts'

/** Characters that may wait to be written, of all worlds; more are not kept. */
const maximumWaiting = 64 * 1024 * 1024
/** A batch goes when it has this many characters, or is this old. */
const batchLength = 512 * 1024
const batchMilliseconds = 25

export interface JournalThreadOptions {
  readonly log: { warn(details: object, message: string): void; error(details: object, message: string): void }
  /** Calls of this file were written. */
  readonly onWritten: (file: string) => void
}

interface Batch {
  readonly records: CallPieces[]
  length: number
  missed: number
}

interface Asked {
  readonly resolve: (answer: any) => void
  readonly reject: (error: Error) => void
}

export class JournalThread {
  readonly #options: JournalThreadOptions
  readonly #bounds = new Map<string, Bounds>()
  readonly #batches = new Map<string, Batch>()
  readonly #asked = new Map<number, Asked>()
  /** Characters that were handed over and are not written yet, with those that still wait here. */
  #waiting = 0
  #timer: NodeJS.Timeout | undefined
  #worker: Worker | undefined
  #number = 0
  #isClosed = false
  /** Calls that were handed over and are not written yet. */
  readonly #underWay = new Map<string, number>()
  /** Calls that were lost with a thread or to a full disk: told to the file with its next batch. */
  readonly #lost = new Map<string, number>()

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
    if (this.#worker !== undefined || this.#batches.has(file)) await this.ask(file, { asks: 'close' })
    this.#bounds.delete(file)
    this.#lost.delete(file)
  }

  /** What was not written yet goes as well. */
  async remove(file: string): Promise<void> {
    this.#bounds.delete(file)
    this.#waiting -= this.#batches.get(file)?.length ?? 0
    this.#batches.delete(file)
    this.#lost.delete(file)
    this.#failing.delete(file)
    if (this.#worker === undefined) removeStore(file)
    else await this.ask(file, { asks: 'remove' })
  }

  /** Costs no more than a push: nothing is written, copied or waited for here. */
  write(file: string, call: CallPieces): void {
    let length = 0
    for (const piece of call) length += piece.length
    let batch = this.#batches.get(file)
    if (batch === undefined) {
      batch = { records: [], length: 0, missed: this.#lost.get(file) ?? 0 }
      this.#lost.delete(file)
      this.#batches.set(file, batch)
    }
    if (this.#waiting + length > maximumWaiting || this.#isClosed) {
      batch.missed += 1
    } else {
      batch.records.push(call)
      batch.length += length
      this.#waiting += length
    }
    if (batch.length >= batchLength) this.#handOver(file, batch)
    else this.#timer ??= setTimeout(() => this.flush(), batchMilliseconds)
  }

  /** Hands over all that waits here. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const [file, batch] of this.#batches) this.#handOver(file, batch)
  }

  /** After what was written before. @throws QueryStopped */
  ask<Q extends Question>(file: string, question: Q): Promise<AnswerTo<Q>> {
    if (this.#isClosed) return Promise.reject(new QueryStopped('closing'))
    const batch = this.#batches.get(file)
    if (batch !== undefined) this.#handOver(file, batch)
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

  #handOver(file: string, { records, length, missed }: Batch): void {
    this.#batches.delete(file)
    this.#say({ file, records, missed, length })
    add(this.#underWay, file, records.length)
  }

  #say(message: ToThread): void {
    this.#started().postMessage(message)
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
      const { file, length, count, failed } = message
      this.#waiting -= length
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
    add(this.#lost, file, count)
    if (!this.#failing.has(file)) this.#options.log.warn({ file, fault }, 'calls could not be written to the journal')
    this.#failing.add(file)
  }

  #ended(worker: Worker, cause: Error | undefined): void {
    if (this.#worker === worker) this.#worker = undefined
    // What it had not written is gone; the next call starts another one.
    for (const [file, count] of this.#underWay) add(this.#lost, file, count)
    this.#underWay.clear()
    this.#waiting = 0
    for (const batch of this.#batches.values()) this.#waiting += batch.length
    if (!this.#isClosed) this.#options.log.error({ err: cause }, 'the journal thread ended')
    for (const { reject } of this.#asked.values())
      reject(this.#isClosed ? new QueryStopped('closing') : new Error('the journal thread ended', { cause }))
    this.#asked.clear()
  }
}

function add(counts: Map<string, number>, file: string, count: number): void {
  const sum = (counts.get(file) ?? 0) + count
  if (sum === 0) counts.delete(file)
  else counts.set(file, sum)
}
