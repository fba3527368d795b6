/** Counts and times of answers. They reach the registry together: one by one, each would cost its request 3 µs. */
import { Counter, Histogram, type Registry } from 'prom-client'

const maximumWaiting = 1000

export class RequestCounts {
  /** By operation and status. */
  readonly #answers = new Map<string, Map<number, number>>()
  readonly #histogram: Histogram
  /** Seconds. */
  #waiting: number[] = []

  constructor(registry: Registry) {
    const answers = this.#answers
    new Counter({
      name: 'hyperplane_requests_total',
      help: 'Answered requests by operation and status.',
      labelNames: ['operation', 'status'],
      registers: [registry],
      collect() {
        this.reset()
        for (const [operation, counts] of answers)
          for (const [status, count] of counts) this.inc({ operation, status }, count)
      },
    })
    this.#histogram = new Histogram({
      name: 'hyperplane_request_seconds',
      help: 'Time from the head of a request to its answer.',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
      registers: [registry],
      collect: () => this.#flush(),
    })
  }

  add(operation: string, status: number, seconds: number): void {
    let counts = this.#answers.get(operation)
    if (counts === undefined) this.#answers.set(operation, (counts = new Map()))
    counts.set(status, (counts.get(status) ?? 0) + 1)
    if (this.#waiting.push(seconds) >= maximumWaiting) this.#flush()
  }

  #flush(): void {
    const seconds = this.#waiting
    this.#waiting = []
    for (const each of seconds) this.#histogram.observe(each)
  }
}
