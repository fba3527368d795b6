import type { Worker } from 'node:worker_threads'

/** Threads of closed apps, for the next app of the process: starting one can take longer than all its work. */
export class IdleThreads {
  readonly #idle: Worker[] = []

  take(): Worker | undefined {
    return this.#idle.pop()
  }

  /** An idle thread does not keep the process alive. */
  keep(thread: Worker): void {
    for (const event of ['message', 'error', 'exit']) thread.removeAllListeners(event)
    thread.unref()
    this.#idle.push(thread)
  }
}
