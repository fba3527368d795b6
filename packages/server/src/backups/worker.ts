/** Whoever works on a backup, usually a thread of its own: one answer to each question, until its end. */
import { on } from 'node:events'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { BackupFault } from '../archive/format.ts'
import type { SnapshotPart } from '../core/ports.ts'
import { threadOptions, threadProgram } from '../store/thread-options.ts'

/** Each is the answer to one message: a part; that there is no more, or that all is well; what went wrong. */
export type ThreadAnswer =
  | { readonly part: SnapshotPart }
  | { readonly done: true }
  | { readonly failed: string; readonly fault?: BackupFault['fault']; readonly faults?: readonly string[] }

export interface ThreadOptions {
  /** File beside this one. */
  readonly program: 'restore-worker.ts' | 'snapshot-worker.js'
  readonly order: unknown
  readonly heapMebibytes: number
  readonly signal?: AbortSignal | undefined
  /** Does the same work in this thread, which is sooner done than started elsewhere where there is little of it. */
  readonly here?: ((port: MessagePort) => Promise<void>) | undefined
}

export class BackupThread {
  readonly #worker: Worker | MessagePort
  readonly #end: () => unknown
  readonly #answers: AsyncIterator<[ThreadAnswer]>
  readonly #signal: AbortSignal | undefined

  constructor({ program, order, heapMebibytes, signal, here }: ThreadOptions) {
    this.#signal = signal
    if (here === undefined) {
      const worker = new Worker(threadProgram(program, import.meta.url), {
        ...threadOptions(),
        workerData: order,
        // Rows come and go one at a time; parts are outside these limits.
        resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: heapMebibytes },
      })
      this.#worker = worker
      this.#end = () => worker.terminate()
    } else {
      const { port1, port2 } = new MessageChannel()
      this.#worker = port1
      this.#end = () => port1.close()
      void here(port2)
    }
    // What it says before it is asked waits here.
    const options = { close: ['exit', 'close'], ...(signal === undefined ? {} : { signal }) }
    this.#answers = on(this.#worker as Worker, 'message', options) as AsyncIterator<any[]> as AsyncIterator<
      [ThreadAnswer]
    >
  }

  /** @throws BackupFault, the reason of the signal, or Error when the thread failed */
  async ask(question: 'next' | 'end' | Uint8Array): Promise<ThreadAnswer> {
    this.#signal?.throwIfAborted()
    this.#worker.postMessage(question)
    const found = await this.#answers.next().catch((error: unknown) => {
      this.#signal?.throwIfAborted()
      throw error
    })
    if (found.done === true) throw new Error('the thread of the backup ended without an answer')
    const [answer] = found.value
    if (!('failed' in answer)) return answer
    if (answer.fault !== undefined) throw new BackupFault(answer.fault, answer.failed, undefined, answer.faults)
    throw new Error(`the thread of the backup failed: ${answer.failed}`)
  }

  /** Shows it all parts, waits for its verdict, and ends it. @throws as `ask` */
  async judge(parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
    try {
      for await (const part of parts) await this.ask(part)
      await this.ask('end')
    } finally {
      await this.end()
    }
  }

  async end(): Promise<void> {
    await this.#end()
  }
}
