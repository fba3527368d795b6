/** Work on a backup, usually in a thread: each message gets one answer. */
import { on } from 'node:events'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { BackupFault } from '../archive/format.ts'
import type { SnapshotPart } from '../core/ports.ts'
import { threadOptions, threadProgram } from '../store/thread-options.ts'

/** A part; no more parts, or a successful check; a failure. */
export type ThreadAnswer =
  | { readonly part: SnapshotPart }
  | { readonly done: true }
  | { readonly failed: string; readonly fault?: BackupFault['fault']; readonly faults?: readonly string[] }

export interface ThreadOptions {
  readonly program: 'restore-worker.ts' | 'snapshot-worker.js'
  readonly order: unknown
  readonly heapMebibytes: number
  readonly signal?: AbortSignal | undefined
  /** Does the same in this thread, which is faster for small stores. */
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
        // Parts are outside these limits.
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
    // The iterator buffers messages that arrive before the next question.
    const options = { close: ['exit', 'close'], signal }
    // `on` also reads ports, and does not know the type of their messages.
    this.#answers = on(this.#worker as Worker, 'message', options) as AsyncIterator<[ThreadAnswer]>
  }

  /** @throws BackupFault, the reason of the signal, or Error when the thread failed */
  async ask(question: 'next' | 'end' | Uint8Array): Promise<ThreadAnswer> {
    this.#signal?.throwIfAborted()
    this.#worker.postMessage(question)
    const next = await this.#answers.next().catch((error: unknown) => {
      this.#signal?.throwIfAborted()
      throw error
    })
    if (next.done === true) throw new Error('the thread of the backup ended without an answer')
    const [answer] = next.value
    if (!('failed' in answer)) return answer
    if (answer.fault !== undefined) throw new BackupFault(answer.fault, answer.failed, undefined, answer.faults)
    throw new Error(`the thread of the backup failed: ${answer.failed}`)
  }

  /** Sends all parts and waits for the verdict. @throws as `ask` */
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
