import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { flowMessages } from '../../core/flow-counts.ts'
import { syslogLines } from '../../core/syslog-counts.ts'
import { cachedBodies } from '../envelope/cached-bodies.ts'
import { renderedTexts } from '../envelope/rendered-texts.ts'

export class Metrics {
  readonly #registry = new Registry()
  /** Exported on demand: a labelled counter costs more than all other measurements of a request. */
  readonly #answers = new Map<string, { operation: string; status: number; count: number }>()
  readonly #seconds: Histogram

  constructor(runningTasks: () => number) {
    const registers = [this.#registry]
    collectDefaultMetrics({ register: this.#registry, prefix: 'hyperplane_' })
    const answers = this.#answers
    new Counter({
      name: 'hyperplane_requests_total',
      help: 'Answered requests by operation and status.',
      labelNames: ['operation', 'status'],
      registers,
      collect() {
        this.reset()
        for (const { operation, status, count } of answers.values()) this.inc({ operation, status }, count)
      },
    })
    this.#seconds = new Histogram({
      name: 'hyperplane_request_seconds',
      help: 'Time from the head of a request to its answer.',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
      registers,
    })
    new Gauge({
      name: 'hyperplane_rendered_texts_bytes',
      help: 'Size of the rendered entities that are kept for further answers.',
      registers,
      collect() {
        this.set(renderedTexts.bytes)
      },
    })
    new Counter({
      name: 'hyperplane_rendered_texts_total',
      help: 'Entities in answers, by whether their text was kept from an earlier answer.',
      labelNames: ['kept'],
      registers,
      collect() {
        this.reset()
        this.inc({ kept: 'yes' }, renderedTexts.hits)
        this.inc({ kept: 'no' }, renderedTexts.misses)
      },
    })
    new Gauge({
      name: 'hyperplane_cached_bodies_bytes',
      help: 'Size of the answers that are kept for clients that poll.',
      registers,
      collect() {
        this.set(cachedBodies.bytes)
      },
    })
    new Counter({
      name: 'hyperplane_cached_bodies_total',
      help: 'Answers to reads, by whether their body was kept from an earlier answer.',
      labelNames: ['kept'],
      registers,
      collect() {
        this.reset()
        this.inc({ kept: 'yes' }, cachedBodies.hits)
        this.inc({ kept: 'no' }, cachedBodies.misses)
      },
    })
    new Counter({
      name: 'hyperplane_syslog_lines_total',
      help: 'Lines for rsyslog servers, sent or lost from full queues.',
      labelNames: ['outcome'],
      registers,
      collect() {
        this.reset()
        for (const [outcome, count] of Object.entries(syslogLines)) this.inc({ outcome }, count)
      },
    })
    new Counter({
      name: 'hyperplane_flow_messages_total',
      help: 'Messages with flow records for IPFIX collectors, sent or lost.',
      labelNames: ['outcome'],
      registers,
      collect() {
        this.reset()
        for (const [outcome, count] of Object.entries(flowMessages)) this.inc({ outcome }, count)
      },
    })
    new Gauge({
      name: 'hyperplane_tasks_running',
      help: 'Tasks that run or wait.',
      registers,
      collect() {
        this.set(runningTasks())
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
    const key = `${operation} ${status}`
    const answer = this.#answers.get(key)
    if (answer === undefined) this.#answers.set(key, { operation, status, count: 1 })
    else answer.count++
    this.#seconds.observe(seconds)
  }

  close(): void {
    this.#registry.clear()
  }
}
