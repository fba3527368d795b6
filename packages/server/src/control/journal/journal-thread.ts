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
const maximumHeld = 16
const maximumHeldBytes = 1024 * 1024

export interface JournalThreadOptions {
  readonly log: { warn(details: object, message: string): void; error(details: object, message: string): void }
  /** Calls were written to this one. */
  readonly onWritten: (folder: string) => void
  /** Somebody waits to be told that. */
  readonly isAwaited: (folder: string) => boolean
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
  /** Calls that are not in words yet. */
  #ended: { readonly folder: string; readonly call: () => CallText }[] = []
  #heldBytes = 0
  readonly #asked = new Map<number, Asked>()
  #timer: NodeJS.Timeout | undefined
  #worker: Worker | undefined
  #number = 0
  #isClosed = false
  /** Calls that were handed over, or told as missed, and are not written yet. */
  readonly #underWay = new Map<string, number>()
  /** Those of which the last batch could not be written. */
  readonly #failing = new Set<string>()

  constructor(options: JournalThreadOptions) {
    this.#options = options
  }

  /** Calls of before are bound as they were. */
  setBounds(folder: string, bounds: Bounds): void {
    this.#pack()
    this.#handOver(folder)
    // A copy of its own: `leave` knows by it whose they are.
    this.#bounds.set(folder, { ...bounds })
    if (this.#worker !== undefined) this.#say({ folder, bounds })
  }

  async leave(folder: string): Promise<void> {
    this.#pack()
    const bounds = this.#bounds.get(folder)
    if (this.#worker !== undefined || this.#batches.folders().has(folder)) await this.ask(folder, { asks: 'close' })
    // Another one may have been opened there meanwhile.
    if (this.#bounds.get(folder) !== bounds) return
    this.#bounds.delete(folder)
    this.#batches.drop(folder)
  }

  /** What was not written yet goes as well. */
  async remove(folder: string): Promise<void> {
    this.#pack()
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
    this.#heldBytes += heldBytes
    if (this.#ended.push({ folder, call }) >= maximumHeld || this.#heldBytes >= maximumHeldBytes) this.#pack()
    else this.#timer ??= setTimeout(() => this.flush(), this.#patienceFor(folder))
  }

  #pack(): void {
    const ended = this.#ended
    this.#ended = []
    this.#heldBytes = 0
    for (const { folder, call } of ended) {
      try {
        if (this.#isClosed) continue
        if (this.#batches.add(folder, call())) this.#handOver(folder)
        else this.#timer ??= setTimeout(() => this.flush(), this.#patienceFor(folder))
      } catch (error) {
        this.#batches.noteLost(folder, 1)
        this.#options.log.error({ err: error, folder }, 'a call could not be recorded')
      }
    }
  }

  #patienceFor(folder: string): number {
    return this.#options.isAwaited(folder) ? awaitedMilliseconds : batchMilliseconds
  }

  /** Hands over all that waits here. */
  flush(): void {
    this.#pack()
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const folder of this.#batches.folders()) this.#handOver(folder)
  }

  /** After what was written before. @throws QueryStopped */
  ask<Q extends Question>(folder: string, question: Q): Promise<AnswerTo<Q>> {
    if (this.#isClosed) return Promise.reject(new QueryStopped('closing'))
    this.#pack()
    this.#handOver(folder)
    const number = ++this.#number
    return new Promise((resolve, reject) => {
      this.#asked.set(number, { resolve, reject })
      // It keeps the process alive for as long as somebody waits, and no longer.
      this.#started().ref()
      this.#say({ folder, number, question })
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

  #handOver(folder: string): void {
    if (!this.#batches.folders().has(folder)) return
    // Before they are taken: it may not start.
    this.#started()
    const batch = this.#batches.take(folder)
    const count = countOf(batch)
    const buffers = batch.parts.map(({ buffer }) => buffer)
    this.#say({ folder, ...batch }, buffers)
    add(this.#underWay, folder, count)
  }

  #say(message: ToThread, handed: readonly ArrayBuffer[] = []): void {
    this.#started().postMessage(message, handed)
  }

  #started(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(threadProgram('journal-worker.ts', import.meta.url), {
      ...threadOptions(),
      resourceLimits: { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 192 },
    })
    this.#worker = worker
    worker.unref()
    worker.on('message', (message: FromThread) => this.#hear(message))
    let cause: Error | undefined
    worker.on('error', (error) => void (cause = error as Error))
    worker.on('exit', () => this.#exited(worker, cause))
    for (const [folder, bounds] of this.#bounds) worker.postMessage({ folder, bounds } satisfies ToThread)
    return worker
  }

  #hear(message: FromThread): void {
    if ('folder' in message) {
      const { folder, parts, failed } = message
      const count = countOf(message)
      this.#batches.giveBack(parts)
      add(this.#underWay, folder, -count)
      if (failed === undefined) this.#failing.delete(folder)
      else this.#noteFailure(folder, count, failed)
      this.#options.onWritten(folder)
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
  #noteFailure(folder: string, count: number, fault: string): void {
    if (!this.#bounds.has(folder)) return
    this.#batches.noteLost(folder, count)
    if (!this.#failing.has(folder)) this.#options.log.warn({ folder, fault }, 'calls are missing from the journal')
    this.#failing.add(folder)
  }

  #exited(worker: Worker, cause: Error | undefined): void {
    if (this.#worker === worker) this.#worker = undefined
    // What it had not written is gone; the next call starts another one.
    for (const [folder, count] of this.#underWay) if (this.#bounds.has(folder)) this.#batches.noteLost(folder, count)
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

function add(counts: Map<string, number>, folder: string, count: number): void {
  const sum = (counts.get(folder) ?? 0) + count
  if (sum === 0) counts.delete(folder)
  else counts.set(folder, sum)
}
