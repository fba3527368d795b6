import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { flowMessages } from '../../core/flow-counts.ts'
import { keptReadCounts } from '../../core/pipeline/kept-reads.ts'
import { syslogLines } from '../../core/syslog-counts.ts'
import { cachedBodies } from '../envelope/cached-bodies.ts'
import { renderedTexts } from '../envelope/rendered-texts.ts'
import { RequestCounts } from './request-counts.ts'

export class Metrics {
  readonly #registry = new Registry()
  readonly #requests = new RequestCounts(this.#registry)

  constructor(runningTasks: () => number) {
    collectDefaultMetrics({ register: this.#registry, prefix: 'hyperplane_' })
    this.#gauge(
      'rendered_texts_bytes',
      'Size of the rendered entities that are kept for further answers.',
      () => renderedTexts.bytes,
    )
    this.#gauge(
      'cached_bodies_bytes',
      'Size of the answers that are kept for clients that poll.',
      () => cachedBodies.bytes,
    )
    this.#gauge('tasks_running', 'Tasks that run or wait.', runningTasks)
    this.#counter(
      'rendered_texts_total',
      'kept',
      'Entities in answers, by whether their text was kept from an earlier answer.',
      () => ({ yes: renderedTexts.hits, no: renderedTexts.misses }),
    )
    this.#counter(
      'cached_bodies_total',
      'kept',
      'Answers to reads, by whether their body was kept from an earlier answer.',
      () => ({ yes: cachedBodies.hits, no: cachedBodies.misses }),
    )
    this.#counter(
      'kept_reads_total',
      'kept',
      'Reads, by whether they were answered without the handler because nothing was committed since an equal one.',
      () => ({ yes: keptReadCounts.hits, no: keptReadCounts.misses }),
    )
    this.#counter(
      'syslog_lines_total',
      'outcome',
      'Lines for rsyslog servers, sent or lost from full queues.',
      () => syslogLines,
    )
    this.#counter(
      'flow_messages_total',
      'outcome',
      'Messages with flow records for IPFIX collectors, sent or lost.',
      () => flowMessages,
    )
  }

  #gauge(name: string, help: string, value: () => number): void {
    new Gauge({
      name: `hyperplane_${name}`,
      help,
      registers: [this.#registry],
      collect() {
        this.set(value())
      },
    })
  }

  #counter(name: string, label: string, help: string, counts: () => Readonly<Record<string, number>>): void {
    new Counter({
      name: `hyperplane_${name}`,
      help,
      labelNames: [label],
      registers: [this.#registry],
      collect() {
        this.reset()
        for (const [value, count] of Object.entries(counts())) this.inc({ [label]: value }, count)
      },
    })
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  text(): Promise<string> {
    return this.#registry.metrics()
  }

  observe(operation: string, status: number, seconds: number): void {
    this.#requests.add(operation, status, seconds)
  }

  close(): void {
    this.#registry.clear()
  }
}
