/** A thread that works on a backup: one answer to each question, until its end. */
import { on } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { SnapshotPart } from './core/ports.ts'
import { BackupFault } from './domains/platform/backup/format.ts'

/** Each is the answer to one message: a part; that there is no more, or that all is well; what went wrong. */
export type ThreadAnswer =
  | { readonly part: SnapshotPart }
  | { readonly done: true }
  | { readonly failed: string; readonly fault?: BackupFault['fault'] }

export interface ThreadOptions {
  /** File beside this one. */
  readonly program: 'restore-worker.ts' | 'snapshot-worker.ts'
  readonly order: unknown
  readonly heapMebibytes: number
  readonly signal?: AbortSignal | undefined
}

export class BackupThread {
  readonly #worker: Worker
  readonly #answers: AsyncIterator<[ThreadAnswer]>
  readonly #signal: AbortSignal | undefined

  constructor({ program, order, heapMebibytes, signal }: ThreadOptions) {
    this.#signal = signal
    this.#worker = new Worker(new URL(program, import.meta.url), {
      workerData: order,
      // Not what the process was started with: a check of the Node version, a test runner.
      execArgv: ['--disable-warning=ExperimentalWarning'],
      // Rows come and go one at a time; parts are outside these limits.
      resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: heapMebibytes },
    })
    // What it says before it is asked waits here.
    const options = { close: ['exit'], ...(signal === undefined ? {} : { signal }) }
    this.#answers = on(this.#worker, 'message', options) as AsyncIterator<any[]> as AsyncIterator<[ThreadAnswer]>
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
    if (answer.fault !== undefined) throw new BackupFault(answer.fault, answer.failed)
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
    await this.#worker.terminate()
  }
}
