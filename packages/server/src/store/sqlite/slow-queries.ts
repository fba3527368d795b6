/** One query at a time, each with a time limit. The thread starts with the first query, and again after a crash. */
import { Worker } from 'node:worker_threads'
import { QueryStopped } from '../store.ts'
import { threadOptions, threadProgram } from '../thread-options.ts'
import type { FoundPage, PageQuery } from './page-query.ts'

const maximumWaiting = 64

export interface QueryThreadData {
  readonly file: string
  readonly limitMilliseconds: number
}

export type ThreadAnswer =
  | { readonly found: FoundPage; readonly milliseconds: number }
  | { readonly stopped: true }
  | { readonly failed: string }

interface QueuedQuery {
  readonly query: PageQuery
  readonly since: number
  readonly resolve: (found: { readonly page: FoundPage; readonly milliseconds: number }) => void
  readonly reject: (error: Error) => void
}

export class SlowQueries {
  readonly #threadData: QueryThreadData
  readonly #waiting: QueuedQuery[] = []
  #running: QueuedQuery | undefined
  #thread: Worker | undefined
  #isClosed = false

  constructor(order: QueryThreadData) {
    this.#threadData = order
  }

  /** @throws QueryStopped when running or waiting exceeded the limit, or too many queries wait */
  run(query: PageQuery): Promise<{ readonly page: FoundPage; readonly milliseconds: number }> {
    if (this.#isClosed) return Promise.reject(new QueryStopped('closing'))
    if (this.#waiting.length >= maximumWaiting) return Promise.reject(new QueryStopped('busy'))
    return new Promise((resolve, reject) => {
      const queued = { query, since: performance.now(), resolve, reject }
      if (this.#running === undefined) this.#begin(queued)
      else this.#waiting.push(queued)
    })
  }

  /** Immediate without a thread. Pending queries are rejected. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const { reject } of this.#waiting.splice(0)) reject(new QueryStopped('closing'))
    if (this.#thread !== undefined) await this.#thread.terminate()
  }

  #begin(queued: QueuedQuery): void {
    this.#running = queued
    this.#thread ??= this.#start()
    this.#thread.ref()
    this.#thread.postMessage(queued.query)
  }

  #next(): void {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      if (performance.now() - next.since < this.#threadData.limitMilliseconds) {
        this.#begin(next)
        return
      }
      next.reject(new QueryStopped('busy'))
    }
  }

  #start(): Worker {
    const thread = new Worker(threadProgram('query-thread.ts', import.meta.url), {
      ...threadOptions(),
      workerData: this.#threadData,
      resourceLimits: { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 256 },
    })
    thread.on('message', (answer: ThreadAnswer) => {
      const running = this.#running
      this.#running = undefined
      // The thread keeps the process alive only while a query waits.
      thread.unref()
      if ('found' in answer) running?.resolve({ page: answer.found, milliseconds: answer.milliseconds })
      else if ('stopped' in answer) running?.reject(new QueryStopped('too long'))
      else running?.reject(new Error(`a query failed: ${answer.failed}`))
      this.#next()
    })
    let cause: Error | undefined
    thread.on('error', (error) => void (cause = error as Error))
    thread.on('exit', () => {
      this.#thread = undefined
      const running = this.#running
      this.#running = undefined
      running?.reject(this.#isClosed ? new QueryStopped('closing') : new Error('the query thread ended', { cause }))
      this.#next()
    })
    return thread
  }
}
